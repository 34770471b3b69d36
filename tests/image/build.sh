#!/usr/bin/env bash
# Builds the Dockerfile where no container engine and no image registry is: build.sh FOLDER
#
# Debian's slim image is made by debootstrap, the builder from this machine's own toolchain and libraries, and cargo goes
# on from what it compiled here already (profile dev), so that nothing is compiled twice. FOLDER gets the image's root
# (`root`) and its configuration (`config.json`).
#
# What is missing and cannot be installed is named in one line, with exit code 3.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$(realpath "$1")
cache=${LOOKASIDE_STACK_CACHE:-$root/target/stack}
. "$here/../stack/need.sh"

[ "$(id -u)" = 0 ] || { say 'an image is built by root alone (mounts, chroot)'; exit 3; }
(need buildah buildah && need debootstrap debootstrap && need cmake cmake) || exit 3

work=$(mktemp -d "${TMPDIR:-/tmp}/lookaside-image.XXXXXX")
containers() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
cleanup() {
  containers rm --all >/dev/null 2>&1 || true
  containers rmi --all --force >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

quiet() { "$@" >"$work/log" 2>&1 || { tail -n 60 "$work/log" >&2; die "failed: $*"; }; }

# An image of a folder: image_of NAME FOLDER [VARIABLE=VALUE…]
image_of() {
  local container name=$1 folder=$2 variable
  shift 2
  container=$(containers from scratch)
  quiet containers add "$container" "$folder" /
  for variable in "$@"; do quiet containers config --env "$variable" "$container"; done
  quiet containers commit "$container" "$name"
  quiet containers rm "$container"
}

debian_image() {
  mkdir -p "$cache"
  local archive=$cache/debian-bookworm.tar base=$work/debian
  mkdir -p "$base"
  if [ ! -f "$archive" ]; then
    say 'fetching Debian'
    quiet debootstrap --variant=minbase bookworm "$base"
    # Packages come from where this machine's come from.
    cp -n /etc/apt/apt.conf.d/* "$base/etc/apt/apt.conf.d/"
    rm -rf "$base"/var/cache/apt/archives/*.deb "$base"/usr/share/{doc,locale,man}
    tar -C "$base" -cf "$archive.new" . && mv "$archive.new" "$archive"
  else
    tar -C "$base" -xf "$archive"
  fi
  image_of docker.io/library/debian:bookworm-slim "$base"
  rm -rf "$base"
}

# The machine itself, seen through /host; only what programs look up by a fixed path is copied.
builder_image() {
  local base=$work/builder name
  mkdir -p "$base"/{etc,tmp,root,host,dev,proc,sys,run,var/tmp} "$base$cargo_home" "$base$rustup_home"
  for name in usr bin sbin lib lib64 opt; do
    [ -e "/$name" ] && ln -s "/host/$name" "$base/$name"
  done
  cp -a /etc/alternatives /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/ssl /etc/passwd /etc/group "$base/etc/"
  image_of docker.io/library/rust:1.95-bookworm "$base" CARGO_HOME="$cargo_home" RUSTUP_HOME="$rustup_home" \
    PATH="$toolchain/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

# What cargo compiled, for it to go on from: objects are shared, its own notes are copied, for it changes them in place.
compiled() {
  local from=$root/target/debug to=$work/target/debug
  mkdir -p "$to"
  cp -a "$from/.fingerprint" "$from/build" "$to/"
  cp -al "$from/deps" "$to/deps" 2>/dev/null || { rm -rf "$to/deps"; cp -a "$from/deps" "$to/deps"; }
}

cargo_home=${CARGO_HOME:-$HOME/.cargo}
rustup_home=${RUSTUP_HOME:-$HOME/.rustup}
toolchain=$(cd "$root" && rustc --print sysroot)
debian_image
builder_image
compiled
say 'building the image'
quiet containers bud --isolation chroot --pull-never --layers=false \
  --volume /:/host:ro --volume "$cargo_home:$cargo_home" --volume "$rustup_home:$rustup_home:ro" \
  --volume "$work/target:/compiled" \
  --build-arg PROFILE=dev --build-arg TARGET_DIR=/compiled \
  --tag localhost/lookaside "$root"
grep -E '^ *(Compiling|Finished)' "$work/log" >&2 || true

mkdir -p "$out/root"
container=$(containers from --pull-never localhost/lookaside)
cp -a "$(containers mount "$container")/." "$out/root/"
containers inspect --type image localhost/lookaside >"$out/config.json"
