"""`container.py VALUES FOLDER`: what the kubelet would do for a container of the chart, short of starting it.

Writes the files of its volumes under FOLDER and prints, as JSON, each container's arguments and environment with the paths
moved there, and its probes. `tests/it/chart.rs` starts the program so, on the real servers.
"""

import json
import pathlib
import sys

import chart


def main(values, folder):
    items = chart.objects(chart.template_values(pathlib.Path(values).read_text()))
    maps = {item["metadata"]["name"]: item["data"] for item in items if item["kind"] == "ConfigMap"}
    containers = {}
    for _, _, spec in chart.pod_specs(items):
        for container in spec["containers"]:
            containers[container["name"]] = placed(container, spec, maps, folder)
    json.dump(containers, sys.stdout)


def placed(container, spec, maps, folder):
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    args = container["args"]
    for mount in container["volumeMounts"]:
        source = volumes[mount["name"]]["configMap"]
        target = folder / mount["mountPath"].lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        for item in source["items"]:
            (target / item["path"]).write_text(maps[source["name"]][item["key"]])
        args = [arg.replace(mount["mountPath"], str(target)) for arg in args]
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
    probes = {}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        if probe in container:
            request = container[probe]["httpGet"]
            probes[probe] = {"path": request["path"], "port": ports[request["port"]]}
    env = {entry["name"]: entry["value"] for entry in container.get("env", [])}
    return {"args": args, "env": env, "probes": probes, "grace": spec.get("terminationGracePeriodSeconds")}


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
