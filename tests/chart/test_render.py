"""What Helm says of the chart, and what the scenarios render to."""

import base64

import pytest
import yaml

import chart
import kubernetes_validate
from restricted import violations

VERSIONS = [f"1.{minor}" for minor in range(29, 38)]
# Kinds of the Prometheus operator: Kubernetes itself has no schema of them.
FOREIGN = {"ServiceMonitor", "PrometheusRule"}


@pytest.mark.parametrize("scenario", chart.SCENARIOS)
def test_lint(scenario):
    chart.helm("lint", "--strict", chart.CHART, "--values", chart.scenario_file(scenario))


def test_lint_without_values():
    chart.helm("lint", "--strict", chart.CHART)


# Alerts and dashboard are files that change on their own; they have tests of their own below.
OF_FILES = ("prometheusrule.yaml", "dashboard.yaml")


@pytest.mark.parametrize("scenario", chart.SCENARIOS)
def test_golden(scenario):
    rendered = chart.template("--values", chart.scenario_file(scenario))
    documents = rendered.split("---\n")
    kept = [document for document in documents if not document.partition("\n")[0].endswith(OF_FILES)]
    chart.expect_file(chart.ROOT / "tests/chart/golden" / f"{scenario}.yaml", "---\n".join(kept))


@pytest.mark.parametrize("scenario", chart.SCENARIOS)
def test_kubernetes_accepts(scenario, renders):
    for version in VERSIONS:
        for item in renders[scenario]:
            if item["kind"] not in FOREIGN:
                kubernetes_validate.validate(item, version, strict=True)


def test_kubernetes_refuses(renders):
    deployment = chart.one(renders["minimal"], "Deployment")
    deployment = yaml.safe_load(yaml.safe_dump(deployment))
    deployment["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(deployment, VERSIONS[0], strict=True)


@pytest.mark.parametrize("scenario", chart.SCENARIOS)
def test_restricted(scenario, renders):
    pods = list(chart.pod_specs(renders[scenario]))
    assert pods
    assert {name: violations(metadata, spec) for name, metadata, spec in pods} == {name: [] for name, *_ in pods}


def test_restricted_check_sees_each_breach(renders):
    (_, metadata, spec), *_ = chart.pod_specs(renders["minimal"])

    def breach(change):
        copy = yaml.safe_load(yaml.safe_dump({"metadata": metadata, "spec": spec}))
        change(copy["spec"], copy["spec"]["containers"][0])
        return violations(copy["metadata"], copy["spec"])

    changes = [
        lambda pod, _: pod.update(hostNetwork=True),
        lambda pod, _: pod.update(hostPID=True),
        lambda pod, _: pod["volumes"].append({"name": "host", "hostPath": {"path": "/"}}),
        lambda pod, _: pod["securityContext"].update(runAsUser=0),
        lambda pod, _: pod["securityContext"].pop("runAsNonRoot"),
        lambda pod, _: pod["securityContext"].pop("seccompProfile"),
        lambda pod, _: pod["securityContext"]["seccompProfile"].update(type="Unconfined"),
        lambda pod, _: pod["securityContext"].update(sysctls=[{"name": "kernel.msgmax", "value": "1"}]),
        lambda _, own: own["securityContext"].update(privileged=True),
        lambda _, own: own["securityContext"].update(runAsUser=0),
        lambda _, own: own["securityContext"].update(runAsNonRoot=False),
        lambda _, own: own["securityContext"].pop("allowPrivilegeEscalation"),
        lambda _, own: own["securityContext"]["capabilities"].pop("drop"),
        lambda _, own: own["securityContext"]["capabilities"].update(add=["SYS_ADMIN"]),
        lambda _, own: own["securityContext"].update(procMount="Unmasked"),
        lambda _, own: own["securityContext"].update(seLinuxOptions={"type": "spc_t"}),
        lambda _, own: own["securityContext"].update(appArmorProfile={"type": "Unconfined"}),
        lambda _, own: own["ports"][0].update(hostPort=8080),
        lambda _, own: own["livenessProbe"]["httpGet"].update(host="127.0.0.1"),
        lambda pod, own: pod.update(initContainers=[{"name": "init", "image": own["image"]}]),
    ]
    assert [number for number, change in enumerate(changes) if not breach(change)] == []


@pytest.mark.parametrize("scenario", chart.SCENARIOS)
def test_objects_belong_together(scenario, renders):
    """Selectors find the job's pods and only them; names and namespaces fit; every volume is mounted and the reverse."""
    items = renders[scenario]
    deployment = chart.one(items, "Deployment")
    pod_labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [deployment["spec"]["selector"]["matchLabels"], chart.one(items, "Service")["spec"]["selector"]]
    selectors += [item["spec"]["selector"]["matchLabels"] for item in items if item["kind"] == "PodDisruptionBudget"]
    spread = deployment["spec"]["template"]["spec"].get("topologySpreadConstraints", [])
    selectors += [constraint["labelSelector"]["matchLabels"] for constraint in spread]
    others = [metadata["labels"] for name, metadata, _ in chart.pod_specs(items) if name.startswith("Pod ")]
    for selector in selectors:
        assert selector.keys() == {f"app.kubernetes.io/{key}" for key in ("name", "instance", "component")}
        assert selector.items() <= pod_labels.items()
        assert not any(selector.items() <= labels.items() for labels in others)
    for item in items:
        assert item["metadata"]["namespace"] == chart.NAMESPACE
        assert len(item["metadata"]["name"]) <= 63
    for _, _, spec in chart.pod_specs(items):
        mounted = {mount["name"] for container in spec["containers"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]}
        assert not any(volume.get("emptyDir") or volume.get("hostPath") for volume in spec["volumes"])


def test_service_monitor_finds_the_service(renders):
    items = renders["monitoring"]
    monitor, service = chart.one(items, "ServiceMonitor"), chart.one(items, "Service")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["jobLabel"] in service["metadata"]["labels"]
    assert monitor["spec"]["namespaceSelector"]["matchNames"] == [service["metadata"]["namespace"]]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert endpoint.keys() <= {
        "port", "path", "interval", "scrapeTimeout", "relabelings", "metricRelabelings",
    }, "fields of a ServiceMonitor's endpoint"


def test_alerts_and_dashboard_are_those_of_the_files():
    values = chart.scenario_values("minimal")
    values["metrics"] = {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}
    items = chart.objects(chart.template_values(values))
    alerts = yaml.safe_load((chart.CHART / "files/alerts.yaml").read_text())
    assert chart.one(items, "PrometheusRule")["spec"] == alerts
    data = chart.one(items, "ConfigMap", "lookaside-dashboard")["data"]
    assert data["lookaside.json"].rstrip() == (chart.CHART / "files/dashboard.json").read_text().rstrip()


def test_alerts_take_labels_and_can_be_left_out():
    everything = yaml.safe_load((chart.CHART / "files/alerts.yaml").read_text())["groups"]
    first, *others = [rule for group in everything for rule in group["rules"] if "alert" in rule]
    values = chart.scenario_values("monitoring")
    given = values["metrics"]["prometheusRule"]
    given["disabled"] = [first["alert"]]
    *groups, extra = chart.one(chart.objects(chart.template_values(values)), "PrometheusRule")["spec"]["groups"]
    assert [extra] == given["extraGroups"]
    rules = [rule for group in groups for rule in group["rules"]]
    labelled = [{**rule, "labels": {**rule["labels"], "team": "streams"}} for rule in others]
    assert [rule for rule in rules if "alert" in rule] == labelled
    recorded = [rule for group in everything for rule in group["rules"] if "record" in rule]
    assert [rule for rule in rules if "record" in rule] == recorded


def test_pods_restart_for_a_change_of_the_job_and_for_nothing_else():
    def pods(*arguments, **more):
        rendered = chart.template("--values", chart.scenario_file("minimal"), *arguments, **more)
        return chart.one(chart.objects(rendered), "Deployment")["spec"]["template"]

    same = pods()
    assert pods("--set", "service.port=9999", "--set", "metrics.dashboard.enabled=true") == same
    assert pods("--set", "definition.options.parallelism=3") != same
    assert pods("--set", "settings.log.level=debug") != same


def test_probes_do_not_wait_for_state():
    items = chart.scenario_objects("minimal")
    (container,) = chart.one(items, "Deployment")["spec"]["template"]["spec"]["containers"]
    paths = {probe: container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert paths == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    assert "preStop" not in container.get("lifecycle", {})


def test_one_replica_is_never_two(renders):
    strategies = {scenario: chart.one(items, "Deployment")["spec"]["strategy"] for scenario, items in renders.items()}
    assert strategies["minimal"] == {"type": "Recreate"}
    assert strategies["replicas"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    assert strategies["extras"]["rollingUpdate"]["maxUnavailable"] == "100%"


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [("30 s", 45), ("2 min", 135), ("1h", 3615), ("500 ms", 16), (500, 16), (1001, 17), ("0 s", 15), ("1 Day", 86415)],
)
def test_grace_period_follows_the_shutdown_timeout(timeout, seconds):
    values = {**chart.scenario_values("minimal"), "settings": {"shutdown": {"timeout": timeout}}}
    deployment = chart.one(chart.objects(chart.template_values(values)), "Deployment")
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == seconds
    for given in (seconds, seconds + 1):
        chart.template_values({**values, "terminationGracePeriodSeconds": given})
    with pytest.raises(chart.Refused, match=f"a stop may take {seconds} seconds"):
        chart.template_values({**values, "terminationGracePeriodSeconds": seconds - 1})


def test_notes_say_what_to_do_next():
    # Helm shows notes only where it reaches a cluster; `extraObjects` are templates, so one can carry them.
    text = '{{ include (print .Template.BasePath "/NOTES.txt") . | b64enc }}'
    carrier = {"apiVersion": "v1", "kind": "Notes", "metadata": {"name": "notes"}, "text": text}

    def notes(scenario):
        items = chart.objects(chart.template_values({**chart.scenario_values(scenario), "extraObjects": [carrier]}))
        return base64.b64decode(chart.one(items, "Notes")["text"]).decode()

    said = notes("order-enrichment")
    assert "The job order-enrichment" in said and "helm test lookaside --namespace streams --logs" in said
    assert "port-forward service/lookaside 8080:8080" in said
    assert "metrics.serviceMonitor.enabled" in said and "metrics.serviceMonitor.enabled" not in notes("monitoring")
    assert "3 pods share" in notes("replicas") and "deployment/pageviews" in notes("replicas")
    assert "rollout restart" in notes("existing") and "switched off" in notes("existing")


def test_a_long_release_name_fits():
    release = "a-release-name-that-is-as-long-as-helm-lets-it-be-53c"
    items = chart.objects(chart.template("--values", chart.scenario_file("monitoring"), release=release))
    assert all(len(item["metadata"]["name"]) <= 63 for item in items)
