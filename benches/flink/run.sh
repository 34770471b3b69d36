#!/usr/bin/env bash
# The benchmark's job in Flink SQL, in one JVM with an embedded mini cluster.
#
#   run.sh build                        fetches Flink from Maven Central and compiles the job, once
#   run.sh run HEAP [-Dname=value …]    runs it, for example
#     run.sh run 4g -Dbootstrap=127.0.0.1:9092 -Djdbc=jdbc:mysql://127.0.0.1:3306/bench -Dsource=orders -Dsink=enriched
#
# `run` becomes the JVM itself, so that whoever starts it can measure that process. Jars and checkpoints live in
# FLINK_WORK (default: target/bench/flink). The job's properties are listed in EnrichmentJob.java.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${FLINK_WORK:-$here/../../target/bench/flink}
mkdir -p "$work"
work=$(cd "$work" && pwd)

build() {
  # What was built is recorded by its sources, so that an edit builds again.
  local sources
  sources=$(cat "$here/pom.xml" "$here"/src/main/java/bench/*.java | sha256sum)
  [ "$(cat "$work/built" 2>/dev/null)" = "$sources" ] && return
  command -v mvn >/dev/null || { echo 'flink: mvn is missing: install the package maven (and a JDK 17)' >&2; exit 1; }
  rm -rf "$work/job" "$work/libs"
  mkdir -p "$work/job"
  cp -r "$here/pom.xml" "$here/src" "$work/job/"
  (cd "$work/job" &&
    mvn -q -B -Dstyle.color=never package dependency:copy-dependencies -DoutputDirectory="$work/libs" -DincludeScope=runtime)
  cp "$work"/job/target/*.jar "$work/libs/"
  echo "$sources" >"$work/built"
}

run() {
  local heap=$1 opens=() package
  shift
  # Flink's serializers and its closure cleaner reach into the JDK by reflection.
  for package in java.lang java.lang.reflect java.net java.io java.nio java.text java.time java.util \
    java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks sun.nio.ch; do
    opens+=("--add-opens=java.base/$package=ALL-UNNAMED")
  done
  exec java "-Xmx$heap" "${opens[@]}" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -Dflink.execution.checkpointing.interval=10s -Dflink.execution.checkpointing.storage=filesystem \
    "-Dflink.execution.checkpointing.dir=file://$work/checkpoints" -Dflink.state.backend.type=hashmap \
    "$@" -cp "$work/libs/*" bench.EnrichmentJob
}

case ${1:-} in
  build) build ;;
  run) [ $# -ge 2 ] || { echo 'usage: run.sh run HEAP [-Dname=value …]' >&2; exit 2; }; build; shift; run "$@" ;;
  *) echo 'usage: run.sh build | run.sh run HEAP [-Dname=value …]' >&2; exit 2 ;;
esac
