"""What the chart takes and what it refuses, with the place that is to blame."""

import copy
import json
import re

import pytest

import chart
import embed

GOOD = chart.scenario_values("order-enrichment")


def test_the_schema_embeds_the_programs_own(program_schema):
    path = chart.CHART / "values.schema.json"
    chart.expect_file(path, embed.embed(json.loads(path.read_text()), program_schema))


def test_only_constructs_of_draft_07():
    schema = json.loads((chart.CHART / "values.schema.json").read_text())
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    newer = {
        "$defs", "$dynamicRef", "$anchor", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
        "unevaluatedItems", "prefixItems", "minContains", "maxContains", "deprecated",
    }

    def walk(node, is_schema):
        if isinstance(node, list):
            for item in node:
                walk(item, is_schema)
        elif isinstance(node, dict):
            if is_schema:
                assert not newer & node.keys()
                assert "$ref" not in node or len(node) == 1
            for key, value in node.items():
                names = is_schema and key in ("properties", "patternProperties", "definitions")
                if key not in ("default", "examples", "enum", "const"):
                    walk(value, not names)

    walk(schema, True)


@pytest.mark.parametrize("scenario", chart.SCENARIOS)
def test_scenarios_are_accepted(scenario):
    chart.template("--values", chart.scenario_file(scenario))


def changed(*changes):
    """The main job with values changed: (dotted path with `/` for dots within a name, value); `...` removes."""
    values = copy.deepcopy(GOOD)
    for path, value in changes:
        *way, last = [part.replace("/", ".") for part in path.split(".")]
        node = values
        for part in way:
            node = node.setdefault(part, {}) if isinstance(node, dict) else node[int(part)]
        if value is ...:
            del node[last]
        elif isinstance(node, list):
            node[int(last)] = value
        else:
            node[last] = value
    return values


# Values, where the fault is reported, and words of the report.
BAD = [
    # The definition, through the program's own schema.
    ([("definition.tabels", {})], "/definition", "tabels"),
    ([("definition.name", ...)], "/definition", "name"),
    ([("definition.pipeline", ...)], "/definition", "pipeline"),
    ([("definition.pipeline.into", ...)], "/definition/pipeline", "into"),
    ([("definition.pipeline.form", "orders")], "/definition/pipeline", "form"),
    ([("definition.pipeline.lookup.0.conditon", "x")], "/definition/pipeline/lookup/0", "conditon"),
    ([("definition.pipeline.lookup.1.type", "outer")], "/definition/pipeline/lookup/1/type", "left"),
    ([("definition.pipeline.lookup", {"table": "users"})], "/definition/pipeline/lookup", "array"),
    ([("definition.tables.users.connector", "mysqll")], "/definition/tables/users/connector", "mysql"),
    ([("definition.tables.users.connector", ...)], "/definition/tables/users", "connector"),
    ([("definition.tables.users.tabel-name", "x")], "/definition/tables/users", "tabel-name"),
    ([("definition.tables.users.table-name", ...)], "/definition/tables/users", "table-name"),
    ([("definition.tables.users.columns", "id INT")], "/definition/tables/users/columns", "array"),
    ([("definition.tables.users.columns.0", 1)], "/definition/tables/users/columns/0", "string"),
    ([("definition.tables.users.lookup/cache", "FULL")], "/definition/tables/users/lookup.cache", "PARTIAL"),
    ([("definition.tables.users.lookup/enable_hash", "maybe")], "/definition/tables/users/lookup.enable_hash", ""),
    ([("definition.tables.users.lookup/max-retries", -1)], "/definition/tables/users/lookup.max-retries", ""),
    (
        [("definition.tables.users.lookup/partial-cache/expire-after-write", "ten minutes")],
        "/definition/tables/users/lookup.partial-cache.expire-after-write",
        "",
    ),
    ([("definition.tables.orders.topic", ["a"])], "/definition/tables/orders/topic", ""),
    ([("definition.tables.orders.value/format", "jsn")], "/definition/tables/orders/value.format", "json"),
    ([("definition.tables.orders.value/json/ignore-parse-error", True)], "/definition/tables/orders", "ignore-parse-error"),
    ([("definition.tables.orders.properties/client/id", {"a": 1})], "/definition/tables/orders/properties.client.id", ""),
    ([("definition.tables.enriched", None)], "/definition/tables/enriched", "object"),
    ([("definition.options.paralelism", 4)], "/definition/options", "paralelism"),
    ([("definition.options.parallelism", "four")], "/definition/options/parallelism", ""),
    # The chart's own values.
    ([("replicas", 2)], "", "replicas"),
    ([("replicaCount", "two")], "/replicaCount", "integer"),
    ([("image.tag", 1.0)], "/image/tag", "string"),
    ([("image.digest", "0123")], "/image/digest", ""),
    ([("image.pullPolicy", "Sometimes")], "/image/pullPolicy", "IfNotPresent"),
    ([("settings.http.address", "8080")], "/settings/http/address", ""),
    ([("settings.log.fromat", "json")], "/settings/log", "fromat"),
    ([("settings.shutdown.timeout", "soon")], "/settings/shutdown/timeout", ""),
    ([("existingSecrets.0.key", "password")], "/existingSecrets/0", "key"),
    ([("existingSecrets.0.items.0.path", "/etc/passwd")], "/existingSecrets/0/items/0/path", ""),
    ([("existingSecrets.0.items.0.path", "../passwd")], "/existingSecrets/0/items/0/path", ""),
    ([("existingConfigMap", "Not A Name")], "/existingConfigMap", ""),
    ([("livenessProbe.initialDelay", 5)], "/livenessProbe", "initialDelay"),
    ([("service.port", 0)], "/service/port", ""),
    ([("podDisruptionBudget.maxUnavailable", "one")], "/podDisruptionBudget/maxUnavailable", ""),
    ([("extraEnv", [{"name": "A", "value": 1}])], "/extraEnv/0/value", "string"),
    ([("extraEnv", {"A": "1"})], "/extraEnv", "array"),
    ([("metrics.serviceMonitor.interval", "often")], "/metrics/serviceMonitor/interval", ""),
    ([("metrics.podMonitor", {})], "/metrics", "podMonitor"),
]


@pytest.mark.parametrize(("changes", "place", "words"), BAD, ids=[str(number) for number in range(len(BAD))])
def test_a_structural_fault_is_refused_at_its_place(changes, place, words):
    with pytest.raises(chart.Refused) as refused:
        chart.template_values(changed(*changes))
    said = str(refused.value)
    assert "values don't meet the specifications of the schema" in said
    places = re.findall(r"at '([^']*)'", said)
    assert place in places, said
    assert words in said


ORDERS, USERS = "definition.tables.orders", "definition.tables.users"
FILE = "${file:/etc/lookaside/secrets/mysql-password}"
JAAS = 'x.PlainLoginModule required username="u" password="{}";'
REFERENCES = [
    (f"{USERS}.password", "${env:PASSWORD}"),
    (f"{USERS}.password", ""),
    (f"{USERS}.url", "mysql://lookaside@mysql/shop"),
    (f"{USERS}.url", "mysql://lookaside:${env:PASSWORD}@mysql/shop"),
    (f"{USERS}.url", "mysql://${env:PLACE:-mysql:3306}/shop?password=${env:PASSWORD}&useUnicode=true"),
    (f"{ORDERS}.properties/sasl/password", FILE),
    (f"{ORDERS}.properties/sasl/jaas/config", JAAS.format(FILE)),
]
SECRETS = [
    (f"{USERS}.password", "s3cr3t"),
    (f"{USERS}.password", "${env:PASSWORD:-s3cr3t}"),
    (f"{USERS}.password", f"{FILE}s3cr3t"),
    (f"{USERS}.url", "mysql://root:s3cr3t@mysql/shop"),
    (f"{USERS}.url", "mysql://root:${env:PASSWORD:-s3cr3t}@mysql/shop"),
    (f"{USERS}.url", "mysql://mysql/shop?user=root&password=s3cr3t"),
    (f"{ORDERS}.properties/sasl/password", "s3cr3t"),
    (f"{ORDERS}.properties/ssl/key/password", "s3cr3t"),
    (f"{ORDERS}.properties/ssl/key/pem", "s3cr3t"),
    (f"{ORDERS}.properties/ssl/keystore/key", "s3cr3t"),
    (f"{ORDERS}.properties/sasl/oauthbearer/client/secret", "s3cr3t"),
    (f"{ORDERS}.properties/ sasl/password ", "s3cr3t"),
    (f"{ORDERS}.properties/sasl/jaas/config", JAAS.format("s3cr3t")),
]


@pytest.mark.parametrize("change", REFERENCES, ids=lambda change: change[0])
def test_references_are_accepted(change):
    chart.template_values(changed(change, ("extraEnv", [{"name": "PASSWORD", "value": "x"}])))


@pytest.mark.parametrize("change", SECRETS, ids=lambda change: change[0])
def test_a_secret_is_refused_and_not_repeated(change, option=None):
    with pytest.raises(chart.Refused) as refused:
        chart.template_values(changed(change))
    option = option or change[0].rpartition(".")[2].replace("/", ".")
    assert f"'{option}' holds a secret" in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


def test_what_the_program_calls_secret_is_secret_here(program_schema):
    tables = program_schema["$defs"]["table"]["oneOf"]
    secrets = [(table, option) for table in tables for option, about in table["properties"].items() if about.get("writeOnly")]
    assert secrets
    for table, option in secrets:
        options = {**dict.fromkeys(table["required"], "x"), "connector": table["properties"]["connector"]["const"]}
        test_a_secret_is_refused_and_not_repeated(("definition.tables.other", {**options, option: "s3cr3t"}), option)


# Values that fit the schema and contradict each other, and what is said.
CONTRADICTIONS = [
    ([("definition", {})], "The release has no job: set `definition`"),
    ([("existingConfigMap", "orders")], "Both `definition` and `existingConfigMap` are set"),
    ([("existingSecrets", [])], "reads /etc/lookaside/secrets/mysql-password, and no Secret gives it"),
    ([("existingSecrets.0.items.0.path", "mysql")], "reads /etc/lookaside/secrets/mysql-password, and no Secret gives it"),
    (
        [("existingSecrets", [*GOOD["existingSecrets"], {"name": "other", "items": [{"key": "mysql-password"}]}])],
        'two Secrets have a file "mysql-password"',
    ),
    ([("definition.tables.users.password", "${env:PASSWORD}")], "reads the variable PASSWORD, and nothing sets it"),
    (
        [("replicaCount", 2), ("definition.tables.orders.properties/group/instance/id", "one")],
        "'properties.group.instance.id' must differ per pod",
    ),
    ([("terminationGracePeriodSeconds", 20)], "terminationGracePeriodSeconds is 20, and a stop may take 45 seconds"),
    (
        [("metrics.prometheusRule", {"enabled": True, "disabled": ["NoSuchAlert"]})],
        'there is no alert "NoSuchAlert"',
    ),
]


@pytest.mark.parametrize(("changes", "message"), CONTRADICTIONS, ids=[message for _, message in CONTRADICTIONS])
def test_a_contradiction_is_refused_with_what_to_set(changes, message):
    with pytest.raises(chart.Refused) as refused:
        chart.template_values(changed(*changes))
    assert message in str(refused.value)


def test_what_cannot_be_known_is_left_to_the_program():
    whole = ("existingSecrets", [{"name": "orders-mysql"}])
    chart.template_values(changed(whole))
    variable = ("definition.tables.users.password", "${env:PASSWORD}")
    chart.template_values(changed(variable, ("extraEnvFrom", [{"secretRef": {"name": "variables"}}])))
    chart.template_values(changed(("definition.tables.users.username", "$${env:NOT_A_REFERENCE}")))
    chart.template_values(
        changed(
            ("replicaCount", 2),
            ("definition.tables.orders.properties/group/instance/id", "${env:POD_NAME}"),
            ("extraEnv", [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        )
    )


def test_a_fault_of_meaning_passes_helm_and_stops_at_the_program():
    """The schema knows the shape alone; an unknown column is the program's to find."""
    items = chart.objects(chart.template_values(changed(("definition.pipeline.where", "orders.no_such_column > 0"))))
    code, _, errors = chart.lookaside("validate", "-", stdin=chart.without_files(chart.definition_text(items)))
    assert code == 3 and "no_such_column" in errors
