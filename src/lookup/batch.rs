//! A batch on its way through the lookups: its rows, and the answers it has.

use std::sync::Arc;

use bumpalo::Bump;

use crate::error::RowFault;
use crate::model::Slice;

use super::Outcome;

/// A dimension row of a joined row: an answer of the batch and a row of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DimensionRef {
    answer: u32,
    row: u32,
}

impl DimensionRef {
    /// No match: LEFT pads with NULLs.
    pub(super) const PADDED: Self = Self { answer: u32::MAX, row: 0 };

    pub(super) fn new(answer: u32, row: usize) -> Self {
        Self { answer, row: u32::try_from(row).unwrap_or(u32::MAX) }
    }
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
    /// Number of lookups in all, and of those that the rows have been through.
    pub(super) steps: usize,
    pub(super) step: usize,
    pub(super) sources: Vec<Slice>,
    pub(super) rows: Vec<Row>,
    /// `step` references per row.
    pub(super) dimensions: Vec<DimensionRef>,
    pub(super) answers: Vec<Outcome>,
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
        self.faults.clear();
    }

    /// Adds a stream row; returns its number.
    pub fn push(&mut self, stream: Slice) -> u32 {
        let source = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        self.sources.push(stream);
        self.rows.push(Row { source, asked: Asked::Nothing });
        source
    }

    /// Whether every row has been through every lookup.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.step == self.steps
    }

    /// Notes an answer.
    pub fn resolve(&mut self, number: u32, outcome: Outcome) {
        if let Some(answer) = self.answers.get_mut(number as usize)
            && matches!(answer, Outcome::Waiting)
        {
            *answer = outcome;
            self.waiting -= 1;
        }
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
        self.dimensions.get(row * self.step..(row + 1) * self.step).unwrap_or_default()
    }

    /// The packed dimension row; `None` where LEFT pads.
    #[must_use]
    pub fn dimension(&self, at: DimensionRef) -> Option<&Arc<[u8]>> {
        match self.answers.get(at.answer as usize)? {
            Outcome::Rows(answer) => answer.rows.get(at.row as usize),
            Outcome::Waiting | Outcome::Failed(_) => None,
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
            Some(at) => {
                let dimension = self.dimensions(row).get(at).and_then(|&at| self.dimension(at));
                dimension.map_or(&[][..], |row| row)
            }
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
            Some(at) => references.get(at).and_then(|&at| self.dimension(at)).map_or(&[][..], |row| row),
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
