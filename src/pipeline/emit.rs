//! What the sink is sent for a change, given what it was sent before.
//!
//! The output is itself a well-formed changelog: a key opens with `+I`, and
//! every `-U` and `-D` repeats a row that was sent, from state, with no second
//! lookup. For a sink that is addressed by the source's key, "sent" is one
//! mark; other sinks get the remembered rows projected again.

use std::collections::HashSet;
use std::ops::Range;

use bumpalo::Bump;
use foldhash::fast::RandomState;
use smallvec::SmallVec;

use crate::encode::Encoder;
use crate::error::RowFault;
use crate::lookup::JoinBatch;
use crate::model::{Datum, OutputBatch, RowKind, RowLayout};
use crate::normalize::Change;
use crate::plan::{Encoding, PlainRow, Plan};
use crate::project::Projector;
use crate::state::{KeyedState, Place, SentMark, SentRows, SharedRow, StateKey};

/// A change with everything around it.
#[derive(Clone, Debug)]
pub(super) struct Emission<'a> {
    pub change: &'a Change,
    pub arena: &'a [u8],
    pub join: &'a JoinBatch,
    /// Joined rows of the row from now on: positions in `join`.
    pub after: Range<usize>,
    /// Joined rows of the row before, where it was looked up again.
    pub before: Range<usize>,
}

/// Encodes output rows and counts them.
#[derive(Debug)]
struct RowWriter {
    encoder: Encoder,
    /// By kind, in the order of [`RowKind::ALL`].
    rows: [u64; 4],
}

impl RowWriter {
    fn write(&mut self, kind: RowKind, row: OutputRow<'_>, out: &mut OutputBatch) -> Result<(), RowFault> {
        self.encoder.encode(kind, row, out)?;
        self.rows[kind as usize] += 1;
        Ok(())
    }

    /// Writes a row from where it lies; false, and nothing written, if that cannot be done.
    fn write_plain(&mut self, kind: RowKind, row: &PlainRow<'_>, out: &mut OutputBatch) -> bool {
        let written = self.encoder.encode_cells(kind, row, out);
        self.rows[kind as usize] += u64::from(written);
        written
    }
}

type OutputRow<'a> = &'a [Datum<'a>];
type OutputRows<'a> = SmallVec<[OutputRow<'a>; 2]>;

/// Turns changes into output rows.
#[derive(Debug)]
pub(super) struct Emitter {
    projector: Projector,
    writer: RowWriter,
    encoding: Encoding,
    key: SinkKey,
    scratch: Bump,
    dimensions: Vec<SharedRow>,
    unmatched: u64,
}

impl Emitter {
    pub fn new(plan: &Plan, encoder: Encoder) -> Self {
        Self {
            projector: Projector::new(plan),
            writer: RowWriter { encoder, rows: [0; 4] },
            encoding: plan.sink.encoding,
            key: SinkKey::new(plan),
            scratch: Bump::new(),
            dimensions: Vec::new(),
            unmatched: 0,
        }
    }

    /// Whether the rows that were sent are remembered, not just that some were.
    pub fn remembers(&self) -> bool {
        self.encoding != Encoding::UpsertBySourceKey
    }

    pub fn projector(&self) -> &Projector {
        &self.projector
    }

    /// Rows sent, by kind in the order of [`RowKind::ALL`].
    pub fn rows_out(&self) -> [u64; 4] {
        self.writer.rows
    }

    /// Changes whose new row gave no output row.
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }

    /// Appends the output rows of a change: all of them, or none and the fault.
    pub fn emit(
        &mut self,
        emission: &Emission<'_>,
        state: Option<&mut (dyn KeyedState + 'static)>,
        out: &mut OutputBatch,
    ) -> Result<(), RowFault> {
        let (mark, counted) = (out.mark(), self.writer.rows);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.reset();
        let result = match (state, self.encoding) {
            (None, _) => self.append(emission, &scratch, out),
            (Some(state), Encoding::UpsertBySourceKey) => self.by_mark(emission, state, &scratch, out),
            (Some(state), _) => self.by_rows(emission, state, &scratch, out),
        };
        self.scratch = scratch;
        if result.is_err() {
            out.roll_back(mark);
            self.writer.rows = counted;
        }
        result
    }

    /// Append-only sources: nothing is ever taken back.
    fn append(
        &mut self,
        emission: &Emission<'_>,
        bump: &Bump,
        out: &mut OutputBatch,
    ) -> Result<(), RowFault> {
        let before = out.rows();
        for at in emission.after.clone() {
            let parts = emission.join.parts(at, emission.arena, bump);
            if self
                .projector
                .plain(parts)
                .is_some_and(|row| self.writer.write_plain(RowKind::Insert, &row, out))
            {
                continue;
            }
            if let Some(row) = self.projector.filtered(parts, bump)? {
                self.writer.write(RowKind::Insert, row, out)?;
            }
        }
        self.unmatched += u64::from(out.rows() == before);
        Ok(())
    }

    /// Sinks addressed by the source's key: one mark per key.
    fn by_mark(
        &mut self,
        emission: &Emission<'_>,
        state: &mut (dyn KeyedState + 'static),
        bump: &Bump,
        out: &mut OutputBatch,
    ) -> Result<(), RowFault> {
        let Emission { change, arena, join, .. } = *emission;
        let (place, stored) = find(state, change, arena);
        let old = match (change.place, change.doubt) {
            _ if change.fresh => SentMark::Nothing,
            (None, true) => SentMark::Unknown,
            _ => stored,
        };
        let mut new = SentMark::Nothing;
        for at in emission.after.clone() {
            let parts = join.parts(at, arena, bump);
            let first = old == SentMark::Nothing && new == SentMark::Nothing;
            let kind = if first { RowKind::Insert } else { RowKind::UpdateAfter };
            if !self.projector.plain(parts).is_some_and(|row| self.writer.write_plain(kind, &row, out)) {
                let Some(row) = self.projector.filtered(parts, bump)? else { continue };
                self.writer.write(kind, row, out)?;
            }
            new = SentMark::Sent;
        }
        if new == SentMark::Nothing {
            self.unmatched += u64::from(change.after.is_some());
            if old != SentMark::Nothing {
                let stream = change.before.or(change.after).map_or(&[][..], |row| row.of(arena));
                self.writer.write(RowKind::Delete, self.projector.deletion(stream, bump)?, out)?;
            }
        }
        match place {
            Some(place) if new != stored || change.after.is_none() => state.mark(place, new),
            None if new == SentMark::Sent => {
                let place = state.insert_rowless(state_key(change, arena), change.origin.partition);
                state.mark(place, new);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sinks that are sent old rows, or that have keys of their own: the rows that were sent are remembered.
    fn by_rows(
        &mut self,
        emission: &Emission<'_>,
        state: &mut (dyn KeyedState + 'static),
        bump: &Bump,
        out: &mut OutputBatch,
    ) -> Result<(), RowFault> {
        let Self { projector, writer, encoding, key, dimensions, .. } = self;
        let Emission { change, arena, join, .. } = *emission;
        let (place, stored) = find(state, change, arena);
        dimensions.clear();
        let new = project(projector, join, arena, emission.after.clone(), (bump, Some(dimensions)))?;
        let old = match stored {
            SentMark::Sent if !change.fresh => remembered(projector, state, place, bump)?,
            SentMark::Unknown if !change.fresh => {
                project(projector, join, arena, emission.before.clone(), (bump, None))?
            }
            _ => OutputRows::new(),
        };
        match encoding {
            Encoding::UpsertByOwnKey => key.write(writer, &old, &new, out)?,
            Encoding::Retract | Encoding::UpsertBySourceKey => retract(writer, &old, &new, out)?,
        }
        let rows = u32::try_from(new.len()).unwrap_or(u32::MAX);
        drop(old);
        self.unmatched += u64::from(change.after.is_some() && rows == 0);
        match (place, change.after) {
            (place, Some(stream)) if rows != 0 => {
                let place = place.unwrap_or_else(|| {
                    state.insert_rowless(state_key(change, arena), change.origin.partition)
                });
                let stream = stream.of(arena);
                state.set_sent_rows(place, SentRows { stream, dimensions: &*dimensions, rows });
            }
            (Some(place), _) => state.mark(place, SentMark::Nothing),
            (None, _) => {}
        }
        Ok(())
    }
}

fn state_key<'a>(change: &Change, arena: &'a [u8]) -> StateKey<'a> {
    StateKey { hash: change.hash, bytes: change.key.of(arena) }
}

/// The entry of a key. It is gone where an earlier deletion was emitted and the key was deleted once more since.
fn find(state: &dyn KeyedState, change: &Change, arena: &[u8]) -> (Option<Place>, SentMark) {
    let found = state.find_near(change.place, state_key(change, arena));
    found.map_or((None, SentMark::Nothing), |(place, entry)| (Some(place), entry.sent))
}

/// Output rows of joined rows that pass `where`; their dimension rows are appended to `kept`.
fn project<'a>(
    projector: &'a Projector,
    join: &'a JoinBatch,
    arena: &'a [u8],
    range: Range<usize>,
    (bump, mut kept): (&'a Bump, Option<&mut Vec<SharedRow>>),
) -> Result<OutputRows<'a>, RowFault> {
    let mut rows = OutputRows::new();
    for at in range {
        if let Some(row) = projector.filtered(join.parts(at, arena, bump), bump)? {
            rows.push(row);
            if let Some(kept) = &mut kept {
                kept.extend(join.dimensions(at).iter().map(|&at| join.dimension(at).cloned()));
            }
        }
    }
    Ok(rows)
}

/// The rows that were sent for a key, projected again.
fn remembered<'a>(
    projector: &'a Projector,
    state: &'a dyn KeyedState,
    place: Option<Place>,
    bump: &'a Bump,
) -> Result<OutputRows<'a>, RowFault> {
    let Some(sent) = place.and_then(|place| state.sent_rows(place)) else { return Ok(OutputRows::new()) };
    let width = sent.dimensions.len().checked_div(sent.rows as usize).unwrap_or(0);
    let mut rows = OutputRows::new();
    for at in 0..sent.rows as usize {
        let dimensions = sent.dimensions.get(at * width..(at + 1) * width).unwrap_or_default();
        let parts = bump.alloc_slice_fill_with(width + 1, |part| match part.checked_sub(1) {
            None => sent.stream,
            Some(at) => dimensions.get(at).and_then(Option::as_deref).unwrap_or_default(),
        });
        rows.push(projector.project(parts, bump)?);
    }
    Ok(rows)
}

/// `+I` where nothing went before, `-D` where nothing follows, else all `-U`, then all `+U`.
fn retract(
    writer: &mut RowWriter,
    old: &[OutputRow<'_>],
    new: &[OutputRow<'_>],
    out: &mut OutputBatch,
) -> Result<(), RowFault> {
    let away = if new.is_empty() { RowKind::Delete } else { RowKind::UpdateBefore };
    let here = if old.is_empty() { RowKind::Insert } else { RowKind::UpdateAfter };
    for row in old {
        writer.write(away, row, out)?;
    }
    for row in new {
        writer.write(here, row, out)?;
    }
    Ok(())
}

/// The key of a sink that holds more than the source's key.
#[derive(Debug)]
struct SinkKey {
    columns: Vec<usize>,
    layout: RowLayout,
}

impl SinkKey {
    fn new(plan: &Plan) -> Self {
        let columns = plan.sink.primary_key.clone();
        let types = columns.iter().filter_map(|&at| plan.project.columns.get(at)).map(|column| &column.ty);
        Self { layout: RowLayout::new(types), columns }
    }

    fn of(&self, row: OutputRow<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        let columns: SmallVec<[Datum<'_>; 4]> =
            self.columns.iter().map(|&at| row.get(at).copied().unwrap_or(Datum::Null)).collect();
        self.layout.pack(&columns, &mut key);
        key
    }

    /// `-D` for old keys that no new row has; then `+U` for new rows whose key was there, `+I` for others.
    fn write(
        &self,
        writer: &mut RowWriter,
        old: &[OutputRow<'_>],
        new: &[OutputRow<'_>],
        out: &mut OutputBatch,
    ) -> Result<(), RowFault> {
        let new_keys: HashSet<Vec<u8>, RandomState> = new.iter().map(|row| self.of(row)).collect();
        let mut there: HashSet<Vec<u8>, RandomState> = HashSet::default();
        for row in old {
            let key = self.of(row);
            if !new_keys.contains(&key) && !there.contains(&key) {
                writer.write(RowKind::Delete, row, out)?;
            }
            there.insert(key);
        }
        for row in new {
            let first = there.insert(self.of(row));
            writer.write(if first { RowKind::Insert } else { RowKind::UpdateAfter }, row, out)?;
        }
        Ok(())
    }
}
