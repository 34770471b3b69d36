"""What the chart says of itself: values, README, versions, package. What is said is so."""

import copy
import json
import re
import shutil

import pytest
import yaml

import chart
import values_table

GOOD = chart.scenario_values("order-enrichment")


def test_every_value_is_documented_and_in_the_schema():
    values = yaml.safe_load((chart.CHART / "values.yaml").read_text())
    documented = {value.path for value in values_table.documented()}
    leaves = set(values_table.leaves(values))
    undocumented = {leaf for leaf in leaves if not any(leaf == path or leaf.startswith(f"{path}.") for path in documented)}
    assert undocumented == set()
    schema = json.loads((chart.CHART / "values.schema.json").read_text())

    def unknown(node, known, path):
        properties = known.get("properties", {})
        for key in properties:
            if key not in node and known is schema:
                yield f"{key} is in the schema alone"
        for key, value in node.items():
            if key not in properties:
                if known.get("additionalProperties") is False:
                    yield f"{path}{key} is in values.yaml alone"
            elif isinstance(value, dict):
                yield from unknown(value, properties[key], f"{path}{key}.")

    assert list(unknown(values, schema, "")) == ["global is in the schema alone"]


def test_the_readmes_table_is_that_of_the_values():
    path = chart.CHART / "README.md"
    text = path.read_text()
    begin, end = text.index(values_table.BEGIN), text.index(values_table.END) + len(values_table.END)
    chart.expect_file(path, text[:begin] + values_table.table() + text[end:])


def yaml_blocks():
    text = (chart.CHART / "README.md").read_text()
    return re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_readmes_values_render():
    first, *others = yaml_blocks()
    text = chart.definition_text(chart.objects(chart.template_values(first)))
    code, out, errors = chart.lookaside("validate", "-", stdin=chart.without_files(text))
    assert (code, out) == (0, "order-enrichment: valid\n"), errors
    for block in others:
        values = {**yaml.safe_load(first), **yaml.safe_load(block)}
        chart.template_values(values)


@pytest.mark.parametrize("readme", ["README.md", "helm/README.md"])
def test_the_readmes_commands_are_understood(readme, tmp_path):
    """`helm install …` of a README, with the values of the chart's README as orders.yaml; rendered, for want of a cluster."""
    (tmp_path / "orders.yaml").write_text(yaml_blocks()[0])
    blocks = re.findall(r"^```sh\n(.*?)^```", (chart.ROOT / readme).read_text(), re.MULTILINE | re.DOTALL)
    commands = [line.split() for block in blocks for line in block.splitlines() if line.startswith("helm ")]
    assert {command[1] for command in commands} == {"install", "test"}
    for _, verb, release, *arguments in commands:
        assert release == "orders"
        if verb == "install":
            places = {"./helm": str(chart.CHART), "orders.yaml": str(tmp_path / "orders.yaml")}
            arguments = [places.get(argument, argument) for argument in arguments]
            assert "kind: Deployment" in chart.helm("template", release, *arguments, "--kube-version", chart.KUBERNETES)


def test_versions_are_the_programs():
    cargo = re.search(r'^version = "(.*)"', (chart.ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
    assert (about["appVersion"], about["kubeVersion"]) == (cargo, f">={chart.KUBERNETES}-0")


def test_every_value_does_something(tmp_path):
    """Each value, changed, changes what is rendered: none is parsed and forgotten."""
    base = {**GOOD, "metrics": {kind: {"enabled": True} for kind in ("serviceMonitor", "prometheusRule", "dashboard")}}
    before = chart.template_values(base)
    idle = []
    for value in values_table.documented():
        other = OTHER.get(value.path, different(value.default))
        values = copy.deepcopy(base)
        node = values
        *way, last = value.path.split(".")
        for part in way:
            node = node.setdefault(part, {})
        node[last] = other
        if value.path == "existingConfigMap":
            values["definition"] = {}
        if chart.template_values(values) == before:
            idle.append(value.path)
    assert idle == []


def different(default):
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    return f"{default}x" if isinstance(default, str) else [] if isinstance(default, list) else {"a": "b"}


DIGEST = "sha256:" + "0" * 64
# Values whose other value must have a shape.
OTHER = {
    "image.digest": DIGEST,
    "image.pullPolicy": "Always",
    "imagePullSecrets": ["registry"],
    "definition": {**GOOD["definition"], "name": "other"},
    "existingSecrets": [*GOOD["existingSecrets"], {"name": "other"}],
    "settings.http.address": "127.0.0.1:80",
    "settings.health.stall_timeout": "2 min",
    "settings.log.format": "text",
    "settings.shutdown.timeout": "1 min",
    "strategy": {"type": "RollingUpdate"},
    "terminationGracePeriodSeconds": 100,
    "startupProbe.httpGet.port": 8080,
    "livenessProbe.httpGet.port": 8080,
    "readinessProbe.httpGet.port": 8080,
    "service.type": "NodePort",
    "topologySpreadConstraints": [],
    "tolerations": [{"operator": "Exists"}],
    "extraEnv": [{"name": "A", "value": "b"}],
    "extraEnvFrom": [{"secretRef": {"name": "a"}}],
    "extraVolumes": [{"name": "a", "configMap": {"name": "a"}}],
    "extraVolumeMounts": [{"name": "a", "mountPath": "/a"}],
    "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}],
    "metrics.serviceMonitor.enabled": False,
    "metrics.prometheusRule.enabled": False,
    "metrics.dashboard.enabled": False,
    "metrics.serviceMonitor.interval": "1m",
    "metrics.serviceMonitor.scrapeTimeout": "1s",
    "metrics.serviceMonitor.relabelings": [{"action": "drop"}],
    "metrics.serviceMonitor.metricRelabelings": [{"action": "drop"}],
    "metrics.prometheusRule.disabled": None,
    "metrics.prometheusRule.extraGroups": [{"name": "a", "rules": []}],
    "metrics.dashboard.labels": {"a": "b"},
    "service.annotations": {"a": "b"},
}
OTHER["metrics.prometheusRule.disabled"] = [
    rule["alert"]
    for group in yaml.safe_load((chart.CHART / "files/alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
][:1]


def test_the_package_holds_the_chart_and_not_its_scenarios(tmp_path):
    chart.helm("package", chart.CHART, "--destination", tmp_path)
    (package,) = tmp_path.glob("*.tgz")
    shutil.unpack_archive(package, tmp_path / "out")
    packed = {str(path.relative_to(tmp_path / "out/lookaside")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {"Chart.yaml", "values.yaml", "values.schema.json", "README.md", "files/alerts.yaml", "files/dashboard.json"} <= packed
    assert not any(path.startswith("ci/") for path in packed)
    chart.template("--values", chart.scenario_file("minimal"), chart=package)
