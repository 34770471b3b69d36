"""The program's own JSON Schema, embedded in the chart's `values.schema.json`.

Helm reads draft-07. The program writes draft 2020-12, so names move (`$defs`), and the choice of a table's connector becomes
a chain of conditions: a fault is then reported at its own key and not as "no alternative fits". One rule is added, because
a chart's values end in a ConfigMap: whatever is secret must be a reference.

`lookaside schema | python tests/chart/embed.py` prints the definitions; UPDATE_EXPECTED=1 on the tests writes the file.
"""

import copy
import json
import sys

# The whole value is a reference without a default: a default would be the secret itself.
REFERENCE = r"^\s*\$\{(file:[^}]+|env:[^}:]+)\}\s*$"
# Settings of Kafka clients that are secret.
SECRET_PROPERTIES = r"^\s*properties\.\s*.*(password|secret|key\.pem)\s*$"
JAAS_PROPERTIES = r"^\s*properties\.\s*.*sasl\.jaas\.config\s*$"
# A Java class's own syntax with the password inside, which must be a reference.
JAAS_REFERENCE = r"password\s*=\s*[\"']?\$\{(file:[^}]+|env:[^}:]+)\}|^\s*\$\{(file:[^}]+|env:[^}:]+)\}\s*$"
# A url with a password in it.
URL_PASSWORD = r"://[^/?@]*:[^/?@]+@|[?&]password="


def definitions(schema):
    """The `definitions` of values.schema.json: a whole definition, and what it is made of."""
    schema = copy.deepcopy(schema)
    parts = {name: draft07(part) for name, part in schema.pop("$defs").items()}
    parts["table"] = by_connector(parts["table"], parts)
    schema.pop("$schema")
    whole = draft07(schema)
    # One file holds the whole definition here; the program also reads folders of parts.
    whole["required"] = ["name", "tables", "pipeline"]
    parts["definition"] = whole
    return dict(sorted(parts.items()))


def draft07(node):
    """References by their new names, and nothing beside a reference: draft-07 ignores it."""
    if isinstance(node, list):
        return [draft07(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: draft07(value) for key, value in node.items()}
    if "$ref" in node:
        reference = node.pop("$ref").replace("#/$defs/", "#/definitions/")
        if not node:
            return {"$ref": reference}
        node["allOf"] = [{"$ref": reference}]
    return secret(node) if node.pop("writeOnly", False) else node


def secret(node):
    kept = {key: value for key, value in node.items() if key in ("description", "default")}
    return {**kept, "type": "string", "pattern": REFERENCE}


def by_connector(table, parts):
    """`oneOf` over connectors as conditions on the key `connector`."""
    names, conditions = [], []
    for connector in table["oneOf"]:
        name = connector["properties"]["connector"]["const"]
        names.append(name)
        parts[f"connector-{name}"] = guarded(connector)
        is_it = {"properties": {"connector": {"const": name}}, "required": ["connector"]}
        conditions.append({"if": is_it, "then": {"$ref": f"#/definitions/connector-{name}"}})
    return {
        "type": "object",
        "required": ["connector"],
        "properties": {"connector": {"enum": names}},
        "allOf": conditions,
    }


def guarded(connector):
    """The connector's table, whose secrets are references."""
    url = connector["properties"].get("url")
    if url is not None:
        connector["properties"]["url"] = {**url, "not": {"pattern": URL_PASSWORD}}
    if "patternProperties" in connector:
        connector["patternProperties"][SECRET_PROPERTIES] = {"type": "string", "pattern": REFERENCE}
        connector["patternProperties"][JAAS_PROPERTIES] = {"type": "string", "pattern": JAAS_REFERENCE}
    return connector


def embed(values_schema, schema):
    """The text of values.schema.json with the program's schema in it."""
    values_schema = {**values_schema, "definitions": definitions(schema)}
    return json.dumps(values_schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    json.dump(definitions(json.load(sys.stdin)), sys.stdout, indent=1, ensure_ascii=False)
