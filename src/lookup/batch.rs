//! A batch on its way through the lookups: its rows, and the answers it has.

use std::sync::Arc;

use bumpalo::Bump;

use crate::error::RowFault;
use crate::model::Slice;

use super::index::{Found, Rows};
use super::{Answer, Outcome};

/// A dimension row of a joined row: an answer of the batch, a row of it, and the batch's copy of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimensionRef {
    answer: u32,
    row: u32,
    copy: Slice,
}

impl DimensionRef {
    /// No match: LEFT pads with NULLs.
    pub(super) const PADDED: Self = Self { answer: u32::MAX, row: 0, copy: Slice::EMPTY };
}

/// What the batch knows of one key. An entry of the cache was fetched from memory to be looked at; its rows are
/// copied then, so they stand in a row when they are read again.
#[derive(Debug)]
pub(super) enum Answered {
    /// Nothing yet.
    Waiting,
    /// Its rows: where their copies begin, and how many there are.
    Rows { first: u32, count: u32, kept: Option<Arc<Answer>> },
    /// It cannot be answered.
    Failed(Arc<RowFault>),
}

/// What a row waits for at the current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// No call was made: there is no match.
    Nothing,
    /// The answer with this number.
    Answer(u32),
    /// The row has no value for a key or condition.
    Faulty,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Position of its stream row among the batch's.
    pub source: u32,
    pub asked: Asked,
}

/// Rows of one batch. Stream rows go in with [`JoinBatch::push`], joined rows come out, in the order of
/// their stream rows, once [`JoinBatch::is_done`].
#[derive(Debug, Default)]
pub struct JoinBatch {
    pub(super) id: u64,
    /// Whether answers are kept beside the copies of their rows: for sinks that are sent old rows again.
    pub(super) keeps: bool,
    /// Number of lookups in all, and of those that the rows have been through.
    pub(super) steps: usize,
    pub(super) step: usize,
    pub(super) sources: Vec<Slice>,
    pub(super) rows: Vec<Row>,
    /// `steps` references per row, of which `step` count.
    pub(super) dimensions: Vec<DimensionRef>,
    pub(super) answers: Vec<Answered>,
    /// Rows of all answers, and their bytes.
    copies: Vec<Slice>,
    copied: Vec<u8>,
    /// Answers that have not come yet.
    pub(super) waiting: usize,
    pub(super) faults: Vec<(u32, RowFault)>,
}

impl JoinBatch {
    /// Empties the batch for another use. `id` is unique among the batches in flight.
    pub fn reset(&mut self, id: u64, steps: usize) {
        (self.id, self.steps, self.step, self.waiting) = (id, steps, 0, 0);
        self.sources.clear();
        self.rows.clear();
        self.dimensions.clear();
        self.answers.clear();
        self.copies.clear();
        self.copied.clear();
        self.faults.clear();
    }

    /// Bytes of its buffers, filled or not: what is kept with it for another use.
    #[must_use]
    pub fn spare_bytes(&self) -> usize {
        fn of<T>(buffer: &Vec<T>) -> usize {
            buffer.capacity() * size_of::<T>()
        }
        let rows = of(&self.sources) + of(&self.rows) + of(&self.dimensions);
        rows + of(&self.answers) + of(&self.copies) + of(&self.copied)
    }

    /// Adds a stream row; returns its number.
    pub fn push(&mut self, stream: Slice) -> u32 {
        let source = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        self.sources.push(stream);
        self.rows.push(Row { source, asked: Asked::Nothing });
        self.dimensions.resize(self.dimensions.len() + self.steps, DimensionRef::PADDED);
        source
    }

    /// Joins every row with its answer where it stands, which is possible if each has exactly one match, or
    /// one row of NULLs in its place; false if some row has none or several.
    pub(super) fn join_in_place(&mut self, pads: bool) -> bool {
        let Self { rows, dimensions, answers, copies, steps, step, .. } = self;
        for (row, references) in rows.iter().zip(dimensions.chunks_exact_mut((*steps).max(1))) {
            let Some(place) = references.get_mut(*step) else { return false };
            *place = match row.asked {
                Asked::Nothing if pads => DimensionRef::PADDED,
                Asked::Answer(number) => match answers.get(number as usize) {
                    Some(Answered::Rows { first, count: 1, .. }) => {
                        let copy = copies.get(*first as usize).copied().unwrap_or_default();
                        DimensionRef { answer: number, row: 0, copy }
                    }
                    Some(Answered::Rows { count: 0, .. }) if pads => DimensionRef::PADDED,
                    _ => return false,
                },
                Asked::Nothing | Asked::Faulty => return false,
            };
        }
        true
    }

    /// Whether every row has been through every lookup.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.step == self.steps
    }

    /// The next key that the batch asks for has this answer.
    pub(super) fn add_answer(&mut self, found: &Found<'_>) {
        let answered = match found.rows {
            Rows::Elsewhere => self.copy(found.answer),
            rows => {
                let first = u32::try_from(self.copies.len()).unwrap_or(u32::MAX);
                if let Rows::One(row) = rows {
                    self.copies.push(Slice::append(&mut self.copied, row));
                }
                let kept = self.keeps.then(|| Arc::clone(found.answer));
                Answered::Rows { first, count: u32::from(matches!(rows, Rows::One(_))), kept }
            }
        };
        self.answers.push(answered);
    }

    /// The next key that the batch asks for is under way.
    pub(super) fn add_waiting(&mut self) {
        self.waiting += 1;
        self.answers.push(Answered::Waiting);
    }

    fn copy(&mut self, answer: &Arc<Answer>) -> Answered {
        let first = u32::try_from(self.copies.len()).unwrap_or(u32::MAX);
        let copied = &mut self.copied;
        self.copies.extend(answer.rows.iter().map(|row| Slice::append(copied, row)));
        let count = u32::try_from(answer.rows.len()).unwrap_or(u32::MAX);
        Answered::Rows { first, count, kept: self.keeps.then(|| Arc::clone(answer)) }
    }

    /// Notes an answer.
    pub fn resolve(&mut self, number: u32, outcome: Outcome) {
        if !matches!(self.answers.get(number as usize), Some(Answered::Waiting)) {
            return;
        }
        let answered = match outcome {
            Outcome::Waiting => return,
            Outcome::Rows(answer) => self.copy(&answer),
            Outcome::Failed(fault) => Answered::Failed(fault),
        };
        self.waiting -= 1;
        if let Some(waiting) = self.answers.get_mut(number as usize) {
            *waiting = answered;
        }
    }

    /// Row `row` of an answer.
    pub(super) fn reference(&self, answer: u32, row: u32) -> DimensionRef {
        let copy = match self.answers.get(answer as usize) {
            Some(Answered::Rows { first, .. }) => self.copies.get((first + row) as usize).copied(),
            _ => None,
        };
        DimensionRef { answer, row, copy: copy.unwrap_or_default() }
    }

    /// Row `row` of an answer, packed.
    pub(super) fn answer_row(&self, answer: u32, row: u32) -> &[u8] {
        self.reference(answer, row).copy.of(&self.copied)
    }

    /// Whether an answer is missing.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.waiting != 0
    }

    /// Number of joined rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no joined row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The stream row that a joined row belongs to.
    #[must_use]
    pub fn source(&self, row: usize) -> Option<u32> {
        self.rows.get(row).map(|row| row.source)
    }

    /// Dimension references of a joined row.
    #[must_use]
    pub fn dimensions(&self, row: usize) -> &[DimensionRef] {
        let start = row * self.steps;
        self.dimensions.get(start..start + self.step).unwrap_or_default()
    }

    /// The packed dimension row, shared with the cache; `None` where LEFT pads, and if the batch does not keep
    /// its answers.
    #[must_use]
    pub fn dimension(&self, at: DimensionRef) -> Option<&Arc<[u8]>> {
        match self.answers.get(at.answer as usize)? {
            Answered::Rows { kept, .. } => kept.as_ref()?.rows.get(at.row as usize),
            Answered::Waiting | Answered::Failed(_) => None,
        }
    }

    /// One packed part of a joined row: 0 is the stream row, then the dimension rows; an empty one reads as NULLs.
    #[must_use]
    pub fn part<'a>(&'a self, row: usize, part: usize, arena: &'a [u8]) -> &'a [u8] {
        match part.checked_sub(1) {
            None => {
                let stream = self.source(row).and_then(|source| self.sources.get(source as usize));
                stream.map_or(&[][..], |slice| slice.of(arena))
            }
            Some(at) => self.dimensions(row).get(at).map_or(&[][..], |at| at.copy.of(&self.copied)),
        }
    }

    /// The packed parts of a joined row: the stream row, then a dimension row per lookup so far; an empty
    /// one reads as NULLs.
    #[must_use]
    pub fn parts<'a>(&'a self, row: usize, arena: &'a [u8], bump: &'a Bump) -> &'a [&'a [u8]] {
        let stream = self.source(row).and_then(|source| self.sources.get(source as usize));
        let references = self.dimensions(row);
        bump.alloc_slice_fill_with(references.len() + 1, |part| match part.checked_sub(1) {
            None => stream.map_or(&[][..], |slice| slice.of(arena)),
            Some(at) => references.get(at).map_or(&[][..], |at| at.copy.of(&self.copied)),
        })
    }

    /// The fault of a stream row, if it has one.
    #[must_use]
    pub fn fault(&self, source: u32) -> Option<&RowFault> {
        self.faults.iter().find(|(faulty, _)| *faulty == source).map(|(_, fault)| fault)
    }

    /// Whether any stream row has a fault.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }
}
