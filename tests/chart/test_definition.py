"""The definition that a pod reads is the one in the values: nothing that Helm does to it changes its meaning."""

import json
import random

import pytest
import yaml

import chart

EXAMPLES = sorted((chart.ROOT / "config/examples").glob("*.yaml"))
WITH_DEFINITION = [name for name in chart.SCENARIOS if "definition" in chart.scenario_values(name)]


def in_pod(items, tmp_path):
    """The definition as the pod has it: folders, secrets and variables in place; only their folder is the test's."""
    text = chart.definition_text(items)
    deployment = chart.one(items, "Deployment")["spec"]["template"]["spec"]
    (container,) = deployment["containers"]
    for volume in deployment["volumes"]:
        for source in volume.get("projected", {}).get("sources", []):
            for item in source["secret"]["items"]:
                file = tmp_path / "secrets" / item["path"]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("s3cr3t/@:#%\n")
    text = text.replace("/etc/lookaside/secrets", str(tmp_path / "secrets"))
    folder = tmp_path / "definition"
    folder.mkdir()
    (folder / "definition.yaml").write_text(text)
    variables = {entry["name"]: entry.get("value", "s3cr3t/@:#%") for entry in container.get("env", [])}
    return folder, variables


@pytest.mark.parametrize("scenario", WITH_DEFINITION)
def test_the_program_accepts_it(scenario, renders, tmp_path):
    folder, variables = in_pod(renders[scenario], tmp_path)
    code, out, errors = chart.lookaside("validate", folder, env=variables)
    assert (code, out) == (0, f"{chart.scenario_values(scenario)['definition']['name']}: valid\n"), errors


@pytest.mark.parametrize("scenario", WITH_DEFINITION)
def test_no_secret_is_in_the_manifests(scenario, renders):
    rendered = yaml.safe_dump_all(renders[scenario])
    assert "s3cr3t" not in rendered
    assert not any(item["kind"] == "Secret" for item in renders[scenario])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_means_the_same_behind_helm(example, tmp_path):
    # The examples default their passwords, for a first try at home; a chart wants them from outside.
    text = example.read_text().replace("MYSQL_PASSWORD:-root", "MYSQL_PASSWORD")
    environment = {"MYSQL_PASSWORD": "s3cr3t"}
    values = "extraEnv:\n- {name: MYSQL_PASSWORD, value: s3cr3t}\ndefinition:\n" + indented(text)
    rendered = chart.definition_text(chart.objects(chart.template_values(values)))
    assert explained(rendered, environment) == explained(text, environment)


def test_order_of_keys_means_nothing(tmp_path):
    text = EXAMPLES[-2].read_text()
    assert "order-enrichment" in text
    expected = explained(text, {})
    chance = random.Random(7)
    for _ in range(10):
        definition = shuffled(yaml.load(text, yaml.BaseLoader), chance)
        assert explained(yaml.safe_dump(definition, sort_keys=False), {}) == expected


def test_scalars_arrive_as_they_are_written(renders, tmp_path):
    folder, variables = in_pod(renders["extras"], tmp_path)
    arrived = yaml.load((folder / "definition.yaml").read_text(), yaml.BaseLoader)
    written = yaml.load(chart.scenario_file("extras").read_text(), yaml.BaseLoader)["definition"]
    assert arrived == written
    code, out, errors = chart.lookaside("explain", folder, "--output", "json", env=variables)
    assert code == 0, errors
    assert json.loads(out)["name"] == "007"


def test_the_settings_are_those_of_the_program(renders):
    """The chart knows every setting of config/settings.yaml, and its defaults are the program's but for the log's format."""
    rendered = yaml.safe_load(chart.one(renders["minimal"], "ConfigMap", "lookaside")["data"]["settings.yaml"])
    program = yaml.safe_load((chart.ROOT / "config/settings.yaml").read_text())
    program["log"]["format"] = "json"
    assert rendered == program


def explained(text, environment):
    """The resolved plan, line by line; notes list keys in the order of the file, so their words are compared sorted."""
    code, plan, errors = chart.lookaside("explain", "-", stdin=text, env=environment)
    assert code == 0 and plan, errors
    return [sorted(line.replace(",", "").split()) if line.startswith("note:") else line for line in plan.splitlines()]


def indented(text):
    return "".join(f"  {line}" for line in text.splitlines(keepends=True))


def shuffled(node, chance):
    if isinstance(node, dict):
        entries = [(key, shuffled(value, chance)) for key, value in node.items()]
        chance.shuffle(entries)
        return dict(entries)
    return [shuffled(item, chance) for item in node] if isinstance(node, list) else node
