//! Formats of keys and values, and which types they carry.

use crate::config::Fault;
use crate::config::options::{FORMATS, TableOptions, UNSUPPORTED_FORMATS, unescape};
use crate::model::{DataType, Type};

use super::super::{CsvOptions, Format, JsonOptions, MapNullKey, RawOptions, SourceKind, TimestampFormat};
use super::context::Context;
use super::schema::Schema;

/// Which columns stand in the record key and how.
pub(super) struct KeyColumns {
    /// Columns of the schema.
    pub columns: Vec<usize>,
    pub prefix: String,
    pub value_includes_key: bool,
}

impl KeyColumns {
    pub fn of(context: &mut Context, schema: &Schema, options: &TableOptions, kind: SourceKind) -> Self {
        let columns = match kind {
            SourceKind::UpsertKafka => schema.primary_key.clone(),
            SourceKind::Kafka => {
                let fields = options.text("key.fields").unwrap_or_default();
                let named = fields.split(';').map(str::trim);
                named
                    .filter_map(|name| schema.columns.iter().position(|column| column.name == name))
                    .collect()
            }
        };
        Self::with(context, schema, options, columns)
    }

    pub fn with(context: &mut Context, schema: &Schema, options: &TableOptions, columns: Vec<usize>) -> Self {
        let prefix = options.text("key.fields-prefix").unwrap_or_default().to_owned();
        let shown = options.shown("key.fields-prefix", &prefix).to_owned();
        let value_includes_key = options.choice("value.fields-include") != "EXCEPT_KEY";
        if !prefix.is_empty() {
            let span = options.span("key.fields-prefix");
            if value_includes_key {
                context.fault(
                    &span,
                    "'key.fields-prefix' needs value.fields-include EXCEPT_KEY",
                    "set that, or leave the prefix out",
                );
            }
            for column in columns.iter().filter_map(|i| schema.columns.get(*i)) {
                if !column.name.starts_with(&prefix) {
                    let what =
                        format!("key column '{}' does not begin with the prefix '{shown}'", column.name);
                    context.fault(
                        &span,
                        what,
                        "name the column with the prefix, which its name in the record key lacks",
                    );
                }
            }
        }
        Self { columns, prefix, value_includes_key }
    }
}

/// The format that `chooser` names, with its options behind `prefix`.
pub(super) fn compile(
    context: &mut Context,
    options: &TableOptions,
    prefix: &str,
    chooser: &str,
) -> Option<Format> {
    let chosen = options.text(chooser)?;
    let option = |name: &str| format!("{prefix}{chosen}.{name}");
    match chosen {
        "json" => json(context, options, &option),
        "csv" => csv(context, options, &option),
        "raw" => Some(Format::Raw(RawOptions {
            big_endian: options.choice(&option("endianness")) != "little-endian",
        })),
        other => {
            let span = options.span(chooser);
            let written = options.written(chooser);
            let fault = match UNSUPPORTED_FORMATS.iter().find(|(name, _)| *name == other) {
                Some((name, why)) => Fault::new(&span, format!("format '{name}' is {why}")),
                None => Fault::new(&span, format!("unknown format '{written}' for '{chooser}'")),
            };
            context.faults.add(fault.allowed(written, FORMATS.iter().map(|format| format.name)));
            None
        }
    }
}

fn json(context: &mut Context, options: &TableOptions, option: &dyn Fn(&str) -> String) -> Option<Format> {
    let json = JsonOptions {
        fail_on_missing_field: options.boolean(&option("fail-on-missing-field")),
        ignore_parse_errors: options.boolean(&option("ignore-parse-errors")),
        timestamp_format: match options.choice(&option("timestamp-format.standard")) {
            "ISO-8601" => TimestampFormat::Iso8601,
            _ => TimestampFormat::Sql,
        },
        map_null_key: match options.choice(&option("map-null-key.mode")) {
            "DROP" => MapNullKey::Drop,
            "LITERAL" => MapNullKey::Literal(
                options.text(&option("map-null-key.literal")).unwrap_or("null").to_owned(),
            ),
            _ => MapNullKey::Fail,
        },
        decimal_as_plain_number: options.boolean(&option("encode.decimal-as-plain-number")),
        ignore_null_fields: options.boolean(&option("encode.ignore-null-fields")),
    };
    exclusive(
        context,
        options,
        json.fail_on_missing_field && json.ignore_parse_errors,
        [&option("fail-on-missing-field"), &option("ignore-parse-errors")],
    );
    Some(Format::Json(json))
}

fn csv(context: &mut Context, options: &TableOptions, option: &dyn Fn(&str) -> String) -> Option<Format> {
    let no_quote = options.boolean(&option("disable-quote-character"));
    let quote_written = options.is_written(&option("quote-character"));
    exclusive(
        context,
        options,
        no_quote && quote_written,
        [&option("disable-quote-character"), &option("quote-character")],
    );
    let quote = options.character(&option("quote-character")).unwrap_or('"');
    let csv = CsvOptions {
        field_delimiter: options.character(&option("field-delimiter")).unwrap_or(','),
        quote: (!no_quote).then_some(quote),
        escape: options.character(&option("escape-character")),
        allow_comments: options.boolean(&option("allow-comments")),
        ignore_parse_errors: options.boolean(&option("ignore-parse-errors")),
        array_element_delimiter: unescape(options.text(&option("array-element-delimiter")).unwrap_or(";")),
        null_literal: options.text(&option("null-literal")).map(str::to_owned),
        decimal_in_scientific_notation: options.boolean(&option("write-bigdecimal-in-scientific-notation")),
        trim_spaces: options.boolean(&option("trim-spaces")),
        ignore_trailing_unmappable: options.boolean(&option("ignore-trailing-unmappable")),
        allow_trailing_comma: options.boolean(&option("allow-trailing-comma")),
        fail_on_missing_columns: options.boolean(&option("fail-on-missing-columns")),
        empty_string_as_null: options.boolean(&option("empty-string-as-null")),
    };
    Some(Format::Csv(csv))
}

fn exclusive(context: &mut Context, options: &TableOptions, both: bool, [first, second]: [&str; 2]) {
    if both {
        context.fault(
            &options.span(second),
            format!("'{first}' and '{second}' exclude each other"),
            "leave one of them out",
        );
    }
}

/// Columns whose types a format cannot carry.
pub(super) fn check_types(
    context: &mut Context,
    schema: &Schema,
    key: &KeyColumns,
    key_format: Option<&Format>,
    value_format: Option<&Format>,
) {
    let physical: Vec<usize> = schema.physical().map(|(i, _)| i).collect();
    let in_value: Vec<usize> =
        physical.into_iter().filter(|i| key.value_includes_key || !key.columns.contains(i)).collect();
    for (what, format, columns) in [("key", key_format, &key.columns), ("value", value_format, &in_value)] {
        let Some(format) = format else { continue };
        if matches!(format, Format::Raw(_)) && columns.len() != 1 {
            let wrong = format!("format raw holds one column, and the record {what} has {}", columns.len());
            let help = "choose json or csv, or declare one column there";
            context.fault(&schema.span, wrong, help);
        }
        for column in columns.iter().filter_map(|i| schema.columns.get(*i)) {
            if let Some(why) = unfit(format, &column.ty) {
                let wrong = format!("column '{}' is {}, which {why}", column.name, column.ty.kind);
                let help = "choose another format, declare another type, or leave the column out";
                context.fault(&column.item.span, wrong, help);
            }
        }
    }
}

fn unfit(format: &Format, ty: &DataType) -> Option<&'static str> {
    match format {
        Format::Json(_) => json_unfit(&ty.kind),
        Format::Csv(_) => csv_unfit(&ty.kind, 0),
        Format::Raw(_) => match &ty.kind {
            Type::Boolean | Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => None,
            Type::Float | Type::Double => None,
            kind if kind.is_text() || kind.is_binary() => None,
            _ => Some("format raw cannot hold"),
        },
    }
}

fn json_unfit(kind: &Type) -> Option<&'static str> {
    match kind {
        Type::Map(key, _) if !key.kind.is_text() => {
            Some("format json cannot hold: keys of a MAP are text there")
        }
        Type::Map(_, value) => json_unfit(&value.kind),
        Type::Array(element) => json_unfit(&element.kind),
        Type::Row(fields) => fields.iter().find_map(|field| json_unfit(&field.ty.kind)),
        _ => None,
    }
}

fn csv_unfit(kind: &Type, depth: usize) -> Option<&'static str> {
    match kind {
        Type::Map(..) => Some("format csv cannot hold"),
        Type::Time(precision) if 3 < *precision => {
            Some("format csv cannot hold: TIME has at most 3 digits there")
        }
        Type::Array(_) | Type::Row(_) if 0 < depth => {
            Some("format csv cannot hold: nested types do not nest there")
        }
        Type::Array(element) => csv_unfit(&element.kind, depth + 1),
        Type::Row(fields) => fields.iter().find_map(|field| csv_unfit(&field.ty.kind, depth + 1)),
        _ => None,
    }
}
