//! The JSON Schema of definitions, made from the option tables.

use serde_json::{Map, Value as Json, json};

use super::options::{CONNECTORS, Choice, ConnectorSpec, FORMATS, JOB_OPTIONS, Kind, OptionSpec, Support};

/// Draft 2020-12; unknown keys are refused wherever the program refuses them.
#[must_use]
pub fn json_schema() -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lookaside definition",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "description": "Application id: consumer group, client ids."},
            "tables": {
                "type": "object",
                "description": "Tables by name.",
                "additionalProperties": {"$ref": "#/$defs/table"},
            },
            "pipeline": {"$ref": "#/$defs/pipeline"},
            "options": options_schema(),
        },
        "$defs": {
            "scalar": {"type": ["string", "number", "boolean"]},
            "columns": {
                "type": "array",
                "description": "Column definitions as in CREATE TABLE.",
                "items": {"type": "string"},
            },
            "table": {"oneOf": CONNECTORS.iter().map(table_schema).collect::<Vec<_>>()},
            "pipeline": pipeline_schema(),
        },
    })
}

fn pipeline_schema() -> Json {
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["from", "into"],
        "properties": {
            "from": {
                "description": "The source table, with another name if need be.",
                "oneOf": [
                    {"type": "string"},
                    {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["table"],
                        "properties": {"table": text("The source table."), "as": text("Its name in this pipeline.")},
                    },
                ],
            },
            "lookup": {
                "type": "array",
                "description": "Lookups in order; each sees the columns before it.",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["table", "condition"],
                    "properties": {
                        "table": text("The dimension table."),
                        "as": text("Its name in this pipeline."),
                        "type": {"enum": ["inner", "left"], "description": "inner by default."},
                        "condition": text("What Flink has behind ON."),
                    },
                },
            },
            "where": {"type": ["string", "boolean"], "description": "A condition that rows must meet."},
            "select": {
                "description": "Expressions, with `AS name`; \"*\" and \"alias.*\" take all columns.",
                "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            },
            "into": text("The sink table."),
        },
    })
}

fn options_schema() -> Json {
    let properties: Map<String, Json> =
        JOB_OPTIONS.iter().map(|spec| (spec.name.to_owned(), option_schema(spec))).collect();
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn table_schema(connector: &ConnectorSpec) -> Json {
    let mut properties = Map::new();
    properties.insert("connector".to_owned(), json!({"const": connector.name}));
    properties.insert("columns".to_owned(), json!({"$ref": "#/$defs/columns"}));
    let accepted = |spec: &&OptionSpec| !matches!(spec.support, Support::Refused(_));
    for spec in connector.options.iter().filter(accepted) {
        properties.insert(spec.name.to_owned(), option_schema(spec));
    }
    for (prefix, chooser) in connector.formats {
        let formats: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        if let Some(property) = properties.get_mut(*chooser) {
            let description = property["description"].take();
            *property = words_schema(formats.iter().copied());
            property["description"] = description;
        }
        for format in FORMATS {
            for spec in format.options.iter().filter(accepted) {
                properties.insert(format!("{prefix}{}.{}", format.name, spec.name), option_schema(spec));
            }
        }
    }
    let every_role = |spec: &&OptionSpec| connector.roles.iter().all(|role| spec.required.contains(role));
    let required = connector.options.iter().filter(every_role).map(|spec| spec.name);
    let required: Vec<&str> = std::iter::once("connector").chain(required).collect();
    let mut schema = json!({
        "title": connector.name,
        "description": connector.doc,
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    });
    if connector.has_properties {
        schema["patternProperties"] = json!({"^\\s*properties\\.": {"$ref": "#/$defs/scalar"}});
    }
    schema
}

fn option_schema(spec: &OptionSpec) -> Json {
    let description = match spec.support {
        Support::Noted(why) => format!("Accepted and unused: {why}."),
        Support::Yes | Support::Refused(_) => spec.doc.to_owned(),
    };
    let mut schema = kind_schema(spec.kind);
    schema["description"] = description.into();
    if let Some(default) = spec.default {
        schema["default"] = default.into();
    }
    schema
}

/// A value that a reference stands for: anything that holds one.
const REFERENCE: &str = r"\$\{(env|file):";

/// What YAML may hold for the kind: text that says the same is allowed too, and so is a reference.
fn kind_schema(kind: Kind) -> Json {
    let or_text = |own: Json, pattern: &str| json!({"anyOf": [own, {"type": "string", "pattern": format!("{pattern}|{REFERENCE}")}]});
    match kind {
        Kind::Boolean => {
            or_text(json!({"type": "boolean"}), r"^\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\s*$")
        }
        Kind::Integer(min, max) => {
            let own = match max {
                i64::MAX => json!({"type": "integer", "minimum": min}),
                _ => json!({"type": "integer", "minimum": min, "maximum": max}),
            };
            or_text(own, r"^\s*[-+]?[0-9]+\s*$")
        }
        Kind::Duration(_) => {
            let mut schema =
                or_text(json!({"type": "integer", "minimum": 0}), r"^\s*[0-9]+\s*[A-Za-zµ]*\s*$");
            schema["examples"] = json!(["10 min", "1 s", "250 ms"]);
            schema
        }
        Kind::Choice(choices) => {
            let words =
                choices.iter().filter(|choice| choice.refused.is_none()).map(|choice: &Choice| choice.name);
            words_schema(words)
        }
        Kind::Text | Kind::AnyText | Kind::Character | Kind::PartitionOffsets => {
            json!({"$ref": "#/$defs/scalar"})
        }
        // The mark by which editors hide it and the chart demands a reference.
        Kind::Secret => json!({"$ref": "#/$defs/scalar", "writeOnly": true}),
    }
}

/// One of some words, in the case of the list or in lower or upper case throughout, as they are usually written.
fn words_schema<'a>(words: impl Iterator<Item = &'a str>) -> Json {
    let mut spellings: Vec<String> = Vec::new();
    for word in words {
        for spelling in [word.to_owned(), word.to_lowercase(), word.to_uppercase()] {
            if !spellings.contains(&spelling) {
                spellings.push(spelling);
            }
        }
    }
    json!({"anyOf": [{"enum": spellings}, {"type": "string", "pattern": REFERENCE}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_that_is_accepted_is_in_the_schema_and_no_other() {
        let schema = json_schema();
        let tables = schema["$defs"]["table"]["oneOf"].as_array().unwrap();
        assert_eq!(tables.len(), CONNECTORS.len());
        for (connector, table) in CONNECTORS.iter().zip(tables) {
            let properties = table["properties"].as_object().unwrap();
            assert_eq!(table["additionalProperties"], false);
            assert_eq!(properties["connector"]["const"], connector.name);
            for spec in connector.options {
                let refused = matches!(spec.support, Support::Refused(_));
                assert_eq!(properties.contains_key(spec.name), !refused, "{}: {}", connector.name, spec.name);
            }
        }
        let upsert = &tables[0]["properties"];
        assert!(
            upsert["value.json.ignore-parse-errors"].is_object()
                && upsert["key.csv.null-literal"].is_object()
        );
        let required: Vec<_> =
            tables[2]["required"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
        assert_eq!(required, ["connector", "url", "table-name"]);
    }
}
