# Sourced: Debian packages that a test needs, installed where that is allowed, else named in one line.

say() { printf 'stack: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

need() { # command package
  command -v "$1" >/dev/null 2>&1 || install "$2"
}

install() { # packages
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 ||
    die "missing: $* (Debian: apt-get install $*)"
  say "installing $*"
  [ -n "${apt_updated:-}" ] || apt-get update -qq >&2
  apt_updated=1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2 ||
    die "could not be installed: $*"
}
