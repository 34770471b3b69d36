"""The program's own JSON Schema, embedded in the chart's `values.schema.json`.

Helm reads draft-07. The program writes draft 2020-12, so names move (`$defs`), and the choice of a table's connector becomes
a chain of conditions: a fault is then reported at its own key and not as "no alternative fits".

`lookaside schema | python tests/chart/embed.py` prints the definitions; UPDATE_EXPECTED=1 on the tests writes the file.
"""

import copy
import json
import sys

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
    return node


def by_connector(table, parts):
    """`oneOf` over connectors as conditions on the key `connector`."""
    names, conditions = [], []
    for connector in table["oneOf"]:
        name = connector["properties"]["connector"]["const"]
        names.append(name)
        parts[f"connector-{name}"] = connector
        is_it = {"properties": {"connector": {"const": name}}, "required": ["connector"]}
        conditions.append({"if": is_it, "then": {"$ref": f"#/definitions/connector-{name}"}})
    return {
        "type": "object",
        "required": ["connector"],
        "properties": {"connector": {"enum": names}},
        "allOf": conditions,
    }


def embed(values_schema, schema):
    """The text of values.schema.json with the program's schema in it."""
    values_schema = {**values_schema, "definitions": definitions(schema)}
    return json.dumps(values_schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    json.dump(definitions(json.load(sys.stdin)), sys.stdout, indent=1, ensure_ascii=False)
