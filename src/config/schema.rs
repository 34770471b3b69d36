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
            property["enum"] = formats.into();
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

/// What YAML may hold for the kind: text that says the same is allowed too, and so is a reference.
fn kind_schema(kind: Kind) -> Json {
    match kind {
        Kind::Boolean => json!({"type": ["boolean", "string"]}),
        Kind::Integer(min, max) => match max {
            i64::MAX => json!({"type": ["integer", "string"], "minimum": min}),
            _ => json!({"type": ["integer", "string"], "minimum": min, "maximum": max}),
        },
        Kind::Duration(_) => json!({"type": ["string", "integer"], "examples": ["10 min", "1 s", "250 ms"]}),
        Kind::Choice(choices) => {
            let words = choices.iter().filter(|choice| choice.refused.is_none());
            json!({"type": "string", "examples": words.map(|choice: &Choice| choice.name).collect::<Vec<_>>()})
        }
        Kind::Text | Kind::AnyText | Kind::Secret | Kind::Character | Kind::PartitionOffsets => {
            json!({"$ref": "#/$defs/scalar"})
        }
    }
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
