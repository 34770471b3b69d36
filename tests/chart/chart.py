"""The chart as Helm renders it: scenarios, renders, and the objects in them."""

import os
import pathlib
import subprocess
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "helm"
SCENARIOS = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))
# The oldest Kubernetes that the chart accepts: what only newer ones know may not be rendered.
KUBERNETES = "1.29.0"
NAMESPACE = "streams"


class Refused(Exception):
    """Helm ended with an error; the text is what it said."""


def helm(*arguments):
    """Runs Helm, without any configuration of the user's."""
    run = subprocess.run(
        [os.environ["HELM"], *map(str, arguments)],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": tempfile.gettempdir(), "KUBECONFIG": "/dev/null"},
    )
    if run.returncode != 0:
        raise Refused(run.stderr + run.stdout)
    return run.stdout


def scenario_file(scenario):
    return CHART / "ci" / f"{scenario}-values.yaml"


def scenario_values(scenario):
    return yaml.safe_load(scenario_file(scenario).read_text())


def template(*arguments, release="lookaside", chart=CHART):
    """`helm template`, as text."""
    return helm("template", release, chart, "--namespace", NAMESPACE, "--kube-version", KUBERNETES, *arguments)


def template_values(values, *arguments, **more):
    """`helm template` with values given as data, or as the text of a values file."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(values if isinstance(values, str) else yaml.safe_dump(values))
        file.flush()
        return template("--values", file.name, *arguments, **more)


def objects(rendered):
    """The objects of a render."""
    return [item for item in yaml.safe_load_all(rendered) if item]


def scenario_objects(scenario):
    return objects(template("--values", scenario_file(scenario)))


def one(items, kind, name=None):
    """The only object of a kind."""
    found = [item for item in items if item["kind"] == kind and name in (None, item["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}"
    return found[0]


def pod_specs(items):
    """Every pod that the objects lead to: (name, metadata, spec)."""
    for item in items:
        name = f"{item['kind']} {item['metadata']['name']}"
        if item["kind"] == "Pod":
            yield name, item["metadata"], item["spec"]
        elif "template" in item.get("spec", {}):
            template_ = item["spec"]["template"]
            yield name, template_["metadata"], template_["spec"]


def definition_text(items):
    """The definition in the ConfigMap, as a pod reads it."""
    maps = [item for item in items if item["kind"] == "ConfigMap" and "definition.yaml" in item.get("data", {})]
    assert len(maps) == 1
    return maps[0]["data"]["definition.yaml"]


def without_files(definition):
    """A definition whose password file need not exist."""
    return definition.replace("${file:/etc/lookaside/secrets/mysql-password}", "x")


def lookaside(*arguments, stdin=None, env=None):
    """Runs the program: (exit code, standard output, standard error)."""
    run = subprocess.run(
        [os.environ["LOOKASIDE"], *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **(env or {})},
        cwd=ROOT,
    )
    return run.returncode, run.stdout, run.stderr


def expect_file(path, text):
    """The file holds this text; UPDATE_EXPECTED=1 writes it. Read the difference before committing it."""
    if os.environ.get("UPDATE_EXPECTED"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path} is missing: run with UPDATE_EXPECTED=1"
    assert path.read_text() == text, f"{path} is stale: run with UPDATE_EXPECTED=1 and read the difference"
