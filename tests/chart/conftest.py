"""Fixtures. HELM and LOOKASIDE name the programs under test; `tests/it/chart.rs` sets them."""

import json
import os

import pytest

import chart

for variable in ("HELM", "LOOKASIDE"):
    if variable not in os.environ:
        raise pytest.UsageError(f"{variable} is not set: run cargo test --test it chart")


@pytest.fixture(scope="session")
def program_schema():
    """What `lookaside schema` prints."""
    code, text, errors = chart.lookaside("schema")
    assert code == 0, errors
    return json.loads(text)


@pytest.fixture(scope="session")
def renders():
    """The objects of each scenario."""
    return {scenario: chart.scenario_objects(scenario) for scenario in chart.SCENARIOS}
