//! Options of the formats; they stand behind `key.`, `value.` or nothing, then the format's name (Flink: D of each format's factory).

use super::spec::Role::{self, Sink, Source};
use super::spec::{Choice, Kind, OptionSpec};

/// One format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatSpec {
    /// Its name.
    pub name: &'static str,
    /// Its options, without their prefix.
    pub options: &'static [OptionSpec],
}

const BOTH: &[Role] = &[Source, Sink];

/// Every format.
pub const FORMATS: &[FormatSpec] = &[
    FormatSpec { name: "json", options: JSON },
    FormatSpec { name: "csv", options: CSV },
    FormatSpec { name: "raw", options: RAW },
];

/// Formats of Flink that are not here, with what to say about them.
pub const UNSUPPORTED_FORMATS: &[(&str, &str)] = &[
    ("avro", "not supported yet"),
    ("avro-confluent", "not supported yet"),
    ("protobuf", "not supported yet"),
    ("debezium-json", "a changelog format: not supported yet"),
    ("debezium-avro-confluent", "a changelog format: not supported yet"),
    ("canal-json", "a changelog format: not supported yet"),
    ("maxwell-json", "a changelog format: not supported yet"),
    ("ogg-json", "a changelog format: not supported yet"),
];

const IGNORE_ERRORS: &str =
    "Fields that do not parse become NULL, and records that do not parse are skipped.";

const JSON: &[OptionSpec] = &[
    OptionSpec::new("fail-on-missing-field", Kind::Boolean, &[Source], "A field that is absent is an error.")
        .default("false"),
    OptionSpec::new("ignore-parse-errors", Kind::Boolean, &[Source], IGNORE_ERRORS).default("false"),
    OptionSpec::new(
        "timestamp-format.standard",
        Kind::Choice(&[Choice::of("SQL"), Choice::of("ISO-8601")]),
        BOTH,
        "A blank or a T between date and time.",
    )
    .default("SQL"),
    OptionSpec::new(
        "map-null-key.mode",
        Kind::Choice(&[Choice::of("FAIL"), Choice::of("DROP"), Choice::of("LITERAL")]),
        &[Sink],
        "What becomes of a NULL key of a MAP.",
    )
    .default("FAIL"),
    OptionSpec::new(
        "map-null-key.literal",
        Kind::AnyText,
        &[Sink],
        "The text for a NULL key in mode LITERAL.",
    )
    .default("null"),
    OptionSpec::new(
        "encode.decimal-as-plain-number",
        Kind::Boolean,
        &[Sink],
        "DECIMAL with all its digits; false writes 2E+1 for 20.00, as Flink does.",
    )
    .default("true"),
    OptionSpec::new("encode.ignore-null-fields", Kind::Boolean, &[Sink], "NULL fields are left out.")
        .default("false"),
    OptionSpec::noted("decode.json-parser.enabled", &[Source], "there is one parser"),
];

const CSV: &[OptionSpec] = &[
    OptionSpec::new("field-delimiter", Kind::Character, BOTH, "Character between fields.").default(","),
    OptionSpec::new("disable-quote-character", Kind::Boolean, BOTH, "No character quotes a field.")
        .default("false"),
    OptionSpec::new("quote-character", Kind::Character, BOTH, "Character that quotes a field.").default("\""),
    OptionSpec::new("allow-comments", Kind::Boolean, &[Source], "Lines that begin with # are skipped.")
        .default("false"),
    OptionSpec::new("ignore-parse-errors", Kind::Boolean, &[Source], IGNORE_ERRORS).default("false"),
    OptionSpec::new(
        "array-element-delimiter",
        Kind::AnyText,
        BOTH,
        "Text between elements of an ARRAY or ROW.",
    )
    .default(";"),
    OptionSpec::new("escape-character", Kind::Character, BOTH, "Character that escapes the next one."),
    OptionSpec::new("null-literal", Kind::AnyText, BOTH, "Text that stands for NULL."),
    OptionSpec::new(
        "write-bigdecimal-in-scientific-notation",
        Kind::Boolean,
        &[Sink],
        "DECIMAL 100.00 is written 1E+2, as Flink does.",
    )
    .default("false"),
    OptionSpec::new("trim-spaces", Kind::Boolean, &[Source], "Blanks around fields are cut.")
        .default("false"),
    OptionSpec::new(
        "ignore-trailing-unmappable",
        Kind::Boolean,
        &[Source],
        "More fields than columns are ignored.",
    )
    .default("false"),
    OptionSpec::new(
        "allow-trailing-comma",
        Kind::Boolean,
        &[Source],
        "One delimiter may follow the last field.",
    )
    .default("true"),
    OptionSpec::new(
        "fail-on-missing-columns",
        Kind::Boolean,
        &[Source],
        "Fewer fields than columns are an error.",
    )
    .default("false"),
    OptionSpec::new("empty-string-as-null", Kind::Boolean, &[Source], "An empty field is NULL.")
        .default("false"),
];

const RAW: &[OptionSpec] = &[
    OptionSpec::new(
        "charset",
        Kind::Choice(&[
            Choice::of("UTF-8"),
            Choice::refused("UTF-16", "not supported: text is UTF-8"),
            Choice::refused("ISO-8859-1", "not supported: text is UTF-8"),
            Choice::refused("US-ASCII", "not needed: ASCII is UTF-8"),
        ]),
        BOTH,
        "Encoding of text.",
    )
    .default("UTF-8"),
    OptionSpec::new(
        "endianness",
        Kind::Choice(&[Choice::of("big-endian"), Choice::of("little-endian")]),
        BOTH,
        "Byte order of numbers.",
    )
    .default("big-endian"),
];
