#!/usr/bin/env bash
# A browser for the tests of the page: Chromium, installed where that is allowed. Where it is not, those tests say
# so and are skipped; in CI they fail without it.
set -uo pipefail

say() { printf 'stack: %s\n' "$*" >&2; }

for program in chromium chromium-browser google-chrome google-chrome-stable; do
  command -v "$program" >/dev/null 2>&1 && exit
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  say 'chromium is missing: tests of the page are skipped (Debian: apt-get install chromium)'
  exit
fi
say 'installing chromium'
{
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
} >/dev/null || say 'chromium could not be installed: tests of the page are skipped'
