#!/usr/bin/env bash
# What compiling needs beyond Rust, for the Kafka client: C and C++ compilers, make, CMake, pkg-config and OpenSSL's
# headers. Installed where that is allowed, else named in one line.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/need.sh"

need cc gcc
need c++ g++
need make make
need cmake cmake
need pkg-config pkg-config
pkg-config --exists openssl || install libssl-dev
