//! `json`: one object per message, or an array of objects.
//!
//! Fields are found by name, case-sensitively; unknown ones are passed over,
//! the last of a repeated name wins. Only the fields that something reads are
//! converted. Flink: `JsonParserRowDataDeserializationSchema` with its parser on.

mod convert;
mod names;
mod scan;
mod usual;
mod usual_row;
mod write;

#[cfg(test)]
mod tests;

pub(super) use write::JsonWriter;

use bumpalo::Bump;

use crate::error::{Error, Kind, Reason, Result, RowFault, TablePart};
use crate::model::{Datum, Type};
use crate::plan::{JsonOptions, TimestampFormat};

use super::day::DayRead;
use super::fields::has_room;
use super::moment::Form;
use super::{FieldSpec, Fields, Tally};
use convert::{Rules, shown};
use names::{Names, Target};
use scan::{Broken, Scanner};
use usual::{Message, Usual, pass_text};

/// With more texts to a row than these, the message is checked to be UTF-8 as a whole, and not text by text.
const TEXTS_MAX: usize = 2;

/// Reads messages.
#[derive(Clone, Debug)]
pub(super) struct JsonReader {
    fields: Box<[FieldSpec]>,
    day: DayRead,
    /// Fields that are text.
    texts: usize,
    /// Columns of the row.
    width: usize,
    names: Names,
    rules: Rules,
}

/// Where the usual ended.
struct Stop {
    at: usize,
    /// Members passed.
    nth: usize,
    /// The value of this member is next. `None`: a member is, or the object's end.
    value_of: Option<Target>,
}

/// A message or row that gives no row.
enum Failure {
    Broken(Broken),
    Fault(RowFault),
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl Failure {
    fn fault(self) -> RowFault {
        match self {
            Self::Fault(fault) => fault,
            Self::Broken(Broken { at, what }) => {
                RowFault::new(Reason::Malformed, format!("not a JSON object: {what} (byte {at})"))
                    .remedy("correct the producer or the format in the definition")
            }
        }
    }
}

impl JsonReader {
    /// # Errors
    /// [`Kind::Definition`] for types that JSON does not have.
    pub(super) fn new(
        options: &JsonOptions,
        fields: Vec<FieldSpec>,
        width: usize,
        lossy: bool,
    ) -> Result<Self> {
        check_types(&fields)?;
        let names = Names::new(&fields);
        let rules = Rules {
            lossy,
            ignore_errors: options.ignore_parse_errors,
            fail_on_missing_field: options.fail_on_missing_field,
            timestamps: form(options.timestamp_format),
        };
        let texts = fields.iter().filter(|field| field.ty.kind.is_text()).count();
        let day = DayRead::new(rules.timestamps);
        Ok(Self { fields: fields.into_boxed_slice(), day, texts, width, names, rules })
    }

    /// Calls `each` for every row of the message.
    #[inline]
    pub(super) fn read<'a>(
        &mut self,
        bytes: &'a [u8],
        arena: &'a Bump,
        mut each: impl FnMut(Fields<'a>) -> Result<(), RowFault>,
    ) -> Result<Tally, RowFault> {
        let mut row = Fields::none(self.width, arena);
        if self.texts > TEXTS_MAX {
            let text = readable(bytes);
            let stop = self.usual_members(text, 0, 0, &mut row);
            return self.finish(text, (stop, row), arena, each);
        }
        let stop = self.usual_members(bytes, 0, 0, &mut row);
        if self.is_whole(bytes, &stop) {
            each(row)?;
            return Ok(Tally { rows: 1, dropped: 0 });
        }
        self.finish(readable(bytes), (stop, row), arena, each)
    }

    /// Whether nothing is left to do for a row.
    #[inline]
    fn is_whole(&self, bytes: &[u8], stop: &Stop) -> bool {
        stop.value_of.is_none()
            && stop.nth > 0
            && bytes.get(stop.at) == Some(&b'}')
            && !self.rules.fail_on_missing_field
    }

    /// The rest of a message of which the first row was begun.
    #[inline(never)]
    fn finish<'a>(
        &mut self,
        text: &'a str,
        (stop, mut row): (Stop, Fields<'a>),
        arena: &'a Bump,
        mut each: impl FnMut(Fields<'a>) -> Result<(), RowFault>,
    ) -> Result<Tally, RowFault> {
        if self.is_whole(text.as_bytes(), &stop) {
            each(row)?;
            return Ok(Tally { rows: 1, dropped: 0 });
        }
        let mut tally = Tally::default();
        let mut scanner = Scanner::new(text);
        if stop.nth > 0 {
            let read = self.rest_of_object(&mut scanner, stop, arena, &mut row);
            self.give(read, row, &mut each, &mut tally)?;
            return Ok(tally);
        }
        if scanner.next_byte() != Some(b'[') {
            self.row(&mut scanner, arena, &mut each, &mut tally)?;
            return Ok(tally);
        }
        let (mut first, mut more) = (true, scanner.expect(b'[', "expected `[`").is_ok());
        while more {
            more = match scanner.element(first) {
                Ok(true) => self.row(&mut scanner, arena, &mut each, &mut tally)?,
                Ok(false) => false,
                Err(broken) => self.drop_or_fail(broken.into(), &mut tally).map(|()| false)?,
            };
            first = false;
        }
        Ok(tally)
    }

    /// Reads one row; false if nothing can be read behind it.
    fn row<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
        arena: &'a Bump,
        each: &mut impl FnMut(Fields<'a>) -> Result<(), RowFault>,
        tally: &mut Tally,
    ) -> Result<bool, RowFault> {
        if scanner.next_byte() != Some(b'{') {
            let Err(broken) = scanner.expect(b'{', "expected `{`") else { return Ok(false) };
            self.drop_or_fail(broken.into(), tally)?;
            return Ok(scanner.value().is_ok());
        }
        if !has_room(arena) {
            return Err(too_many_rows());
        }
        let mut row = Fields::none(self.width, arena);
        let stop = self.usual_members(scanner.text(), scanner.position(), 0, &mut row);
        let read = self.rest_of_object(scanner, stop, arena, &mut row);
        self.give(read, row, each, tally)
    }

    /// Passes a row on, or drops it; false if nothing can be read behind it.
    fn give<'a>(
        &self,
        read: Result<(), Failure>,
        row: Fields<'a>,
        each: &mut impl FnMut(Fields<'a>) -> Result<(), RowFault>,
        tally: &mut Tally,
    ) -> Result<bool, RowFault> {
        match read {
            Ok(()) => {
                tally.rows += 1;
                each(row).map(|()| true)
            }
            Err(failure) => {
                let passed = matches!(failure, Failure::Fault(_));
                self.drop_or_fail(failure, tally).map(|()| passed)
            }
        }
    }

    fn drop_or_fail(&self, failure: Failure, tally: &mut Tally) -> Result<(), RowFault> {
        if !self.rules.ignore_errors {
            return Err(failure.fault());
        }
        tally.dropped += 1;
        Ok(())
    }

    /// Reads on where the usual ended.
    fn rest_of_object<'a>(
        &mut self,
        scanner: &mut Scanner<'a>,
        mut stop: Stop,
        arena: &'a Bump,
        row: &mut Fields<'a>,
    ) -> Result<(), Failure> {
        loop {
            scanner.go_to(stop.at);
            let mut nth = stop.nth;
            let target = match stop.value_of {
                Some(target) => target,
                None => match self.member(scanner, nth, arena)? {
                    None => return self.check_presence(row),
                    Some(target) => {
                        nth += 1;
                        target
                    }
                },
            };
            self.any_value(scanner, target, arena, row)?;
            stop = self.usual_members(scanner.text(), scanner.position(), nth, row);
        }
    }

    /// Takes members, the `nth` and those after it, as long as they are what the message before had, with values in
    /// their usual form.
    #[inline]
    fn usual_members<'a, M: Message<'a>>(
        &mut self,
        message: M,
        from: usize,
        nth: usize,
        row: &mut Fields<'a>,
    ) -> Stop {
        let bytes = message.bytes();
        let (mut at, mut nth) = (from, nth);
        for head in self.names.heads_from(nth) {
            if !bytes.get(at..).is_some_and(|rest| head.begins(rest)) {
                break;
            }
            nth += 1;
            at += head.len;
            let end = match head.target.usual {
                Usual::Unread if M::UNCHECKED => pass_text::<true>(bytes, at),
                Usual::Unread => pass_text::<false>(bytes, at),
                _ => match row.slot(head.target.column as usize) {
                    Some(slot) => head.target.usual.take(message, at, &mut self.day, slot),
                    None => None,
                },
            };
            match end {
                Some(end) => at = end,
                None => return Stop { at, nth, value_of: Some(head.target) },
            }
        }
        Stop { at, nth, value_of: None }
    }

    /// Passes what stands before the value of the next member; gives what the member is. `None` at the object's end.
    #[inline(never)]
    fn member(
        &mut self,
        scanner: &mut Scanner<'_>,
        nth: usize,
        arena: &Bump,
    ) -> Result<Option<Target>, Broken> {
        let start = scanner.position();
        if nth == 0 {
            scanner.expect(b'{', "expected `{`")?;
        }
        let Some(name) = scanner.member(nth == 0)? else { return Ok(None) };
        scanner.next_byte();
        let target = self.names.find(name.resolve(arena));
        self.names.learn(nth, scanner.since(start), target);
        Ok(Some(target))
    }

    /// Takes a value of any form.
    #[inline(never)]
    fn any_value<'a>(
        &self,
        scanner: &mut Scanner<'a>,
        target: Target,
        arena: &'a Bump,
        row: &mut Fields<'a>,
    ) -> Result<(), Failure> {
        let (field, slot) = (self.fields.get(target.field as usize), row.slot(target.column as usize));
        let (Some(field), Some(slot)) = (field, slot) else {
            scanner.value()?;
            return Ok(());
        };
        match target.usual.take_longer(scanner.text().as_bytes(), scanner.position(), slot) {
            Some(end) => scanner.go_to(end),
            None => *slot = self.value(scanner, field, arena)?,
        }
        Ok(())
    }

    fn value<'a>(
        &self,
        scanner: &mut Scanner<'a>,
        field: &FieldSpec,
        arena: &'a Bump,
    ) -> Result<Datum<'a>, Failure> {
        let token = scanner.value()?;
        match self.rules.convert(token, &field.ty.kind, arena) {
            Ok(datum) => Ok(datum),
            Err(_) if self.rules.ignore_errors => Ok(Datum::Null),
            Err(misfit) => Err(Failure::Fault(misfit.fault(&field.name, &field.ty.kind, shown(token)))),
        }
    }

    fn check_presence(&self, row: &Fields<'_>) -> Result<(), Failure> {
        if !self.rules.fail_on_missing_field {
            return Ok(());
        }
        match self.fields.iter().find(|field| !row.is_present(field.column)) {
            None => Ok(()),
            Some(field) => Err(Failure::Fault(
                RowFault::new(Reason::MissingField, format!("the message has no field `{}`", field.name))
                    .in_column(&field.name)
                    .remedy("correct the producer, or switch json.fail-on-missing-field off to read NULL"),
            )),
        }
    }
}

fn too_many_rows() -> RowFault {
    RowFault::new(Reason::Malformed, "the message holds more rows than fit in memory")
        .remedy("produce smaller messages")
}

/// Names of a JSON object are text, so the key of a MAP must be.
fn check_types(fields: &[FieldSpec]) -> Result<()> {
    match fields.iter().find(|field| !fits(&field.ty.kind)) {
        None => Ok(()),
        Some(field) => {
            let message = format!(
                "column {} is {}: in json the keys of a MAP are CHAR, VARCHAR or STRING",
                field.name, field.ty
            );
            Err(Error::new(Kind::Definition, message).about(TablePart::Column(field.name.clone())))
        }
    }
}

fn fits(ty: &Type) -> bool {
    match ty {
        Type::Array(element) => fits(&element.kind),
        Type::Map(key, value) => key.kind.is_text() && fits(&value.kind),
        Type::Row(fields) => fields.iter().all(|field| fits(&field.ty.kind)),
        _ => true,
    }
}

/// How timestamps of a standard are written.
pub(super) fn form(standard: TimestampFormat) -> Form {
    match standard {
        TimestampFormat::Sql => Form::SQL,
        TimestampFormat::Iso8601 => Form::ISO,
    }
}

/// The message as text, without a byte order mark, up to the first byte that is not UTF-8: what stands
/// behind the object is not looked at, what stands within it ends the text too early.
fn readable(bytes: &[u8]) -> &str {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => bytes
            .get(..error.valid_up_to())
            .and_then(|valid| std::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    }
}
