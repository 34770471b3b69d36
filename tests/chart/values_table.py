"""Reads values.yaml with its comments: every value, its default and what is said of it, and the table of the README."""

import json
import re

import yaml

from chart import CHART

BEGIN, END = "<!-- values: begin -->", "<!-- values: end -->"


class Value:
    """One documented value."""

    def __init__(self, path, default, text):
        self.path, self.default, self.text = path, default, text

    def row(self):
        default = json.dumps(self.default, ensure_ascii=False)
        return f"| `{self.path}` | `{default}` | {self.text.replace('|', chr(92) + '|')} |"


def documented():
    """Values that a `# --` comment stands above, in order."""
    lines = (CHART / "values.yaml").read_text().splitlines()
    whole = yaml.safe_load("\n".join(lines))
    values, path, comment = [], [], None
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("# -- "):
            comment = stripped[5:]
        elif stripped.startswith("#"):
            comment = comment and f"{comment} {stripped[1:].strip()}"
        else:
            key = re.match(r"( *)([A-Za-z0-9_]+):", line)
            if key:
                depth = len(key[1]) // 2
                path = path[:depth] + [key[2]]
                if comment:
                    values.append(Value(".".join(path), at(whole, path), comment))
            comment = None
    return values


def at(values, path):
    for key in path:
        values = values[key]
    return values


def leaves(values, path=()):
    """Paths of everything that is not a map with keys."""
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from leaves(value, (*path, key))
    else:
        yield ".".join(path)


def table():
    rows = [value.row() for value in documented()]
    return "\n".join([BEGIN, "| value | default | what it is |", "|---|---|---|", *rows, END])
