"""The Pod Security Standard "restricted", control by control: what a pod spec does against it."""

VOLUME_TYPES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
}
SECCOMP = {"RuntimeDefault", "Localhost"}
APPARMOR = {None, "RuntimeDefault", "Localhost"}
SELINUX = {None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
SYSCTLS = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def violations(metadata, spec):
    """What the restricted standard forbids and the pod does, or demands and the pod does not do."""
    found = []
    pod = spec.get("securityContext") or {}
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            found.append(f"spec.{key}")
    for volume in spec.get("volumes", []):
        for kind in volume.keys() - {"name"} - VOLUME_TYPES:
            found.append(f"volume {volume['name']}: {kind}")
    for key in metadata.get("annotations") or {}:
        if key.startswith("container.apparmor.security.beta.kubernetes.io/"):
            found.append(f"annotation {key}")
    found += contexts("pod", pod)
    for sysctl in pod.get("sysctls", []):
        if sysctl["name"] not in SYSCTLS:
            found.append(f"pod: sysctl {sysctl['name']}")
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group, []):
            found += container_violations(pod, container)
    return found


def contexts(where, context):
    """What holds for the security context of a pod and of a container alike."""
    found = []
    if context.get("runAsUser") == 0:
        found.append(f"{where}: runAsUser 0")
    if context.get("runAsNonRoot") is False:
        found.append(f"{where}: runAsNonRoot false")
    if "seccompProfile" in context and context["seccompProfile"].get("type") not in SECCOMP:
        found.append(f"{where}: seccompProfile")
    if (context.get("appArmorProfile") or {}).get("type") not in APPARMOR:
        found.append(f"{where}: appArmorProfile")
    linux = context.get("seLinuxOptions") or {}
    if linux.get("type") not in SELINUX or linux.get("user") or linux.get("role"):
        found.append(f"{where}: seLinuxOptions")
    if (context.get("windowsOptions") or {}).get("hostProcess"):
        found.append(f"{where}: hostProcess")
    return found


def container_violations(pod, container):
    where, context = container["name"], container.get("securityContext") or {}
    found = contexts(where, context)
    if context.get("privileged"):
        found.append(f"{where}: privileged")
    if context.get("allowPrivilegeEscalation") is not False:
        found.append(f"{where}: allowPrivilegeEscalation")
    if not (context.get("runAsNonRoot") or (pod.get("runAsNonRoot") and "runAsNonRoot" not in context)):
        found.append(f"{where}: runAsNonRoot")
    if "seccompProfile" not in context and "seccompProfile" not in pod:
        found.append(f"{where}: no seccompProfile")
    capabilities = context.get("capabilities") or {}
    if "ALL" not in capabilities.get("drop", []):
        found.append(f"{where}: capabilities.drop")
    if set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        found.append(f"{where}: capabilities.add")
    if context.get("procMount", "Default") != "Default":
        found.append(f"{where}: procMount")
    if any(port.get("hostPort") for port in container.get("ports", [])):
        found.append(f"{where}: hostPort")
    handlers = [container.get(probe) or {} for probe in PROBES]
    handlers += list((container.get("lifecycle") or {}).values())
    for handler in handlers:
        if any((handler.get(kind) or {}).get("host") for kind in ("httpGet", "tcpSocket")):
            found.append(f"{where}: host of a probe")
    return found
