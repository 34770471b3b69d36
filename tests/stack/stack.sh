#!/usr/bin/env bash
# The servers that tests and benchmarks run against: one Apache Kafka broker and
# one MySQL-protocol server, both real, on free ports of the loopback address.
#
#   stack.sh run COMMAND…   start the servers, run COMMAND with their addresses in
#                           LOOKASIDE_TEST_KAFKA and LOOKASIDE_TEST_MYSQL, stop them
#
# Kafka's jars come from Maven Central. Where a container engine runs, MySQL
# comes from tests/stack/compose.yaml, elsewhere MariaDB from the system's
# packages. What is missing and cannot be installed is named in one line.
# LOOKASIDE_TEST_KAFKA_LOGS is the broker's data, LOOKASIDE_TEST_KAFKA_JARS its
# program; security.sh explains LOOKASIDE_TEST_SECURITY.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${LOOKASIDE_STACK_CACHE:-$root/target/stack}
data=

. "$here/need.sh"
. "$here/security.sh"

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

wait_port() { # port seconds name log
  for _ in $(seq $(($2 * 10))); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
    sleep 0.1
  done
  tail -n 20 "$4" >&2 || true
  die "$3 did not answer on port $1 within $2 seconds"
}

kafka_jars() {
  [ -f "$cache/jars/.complete" ] && return
  need java openjdk-17-jre-headless
  need mvn maven
  say 'fetching the Kafka broker'
  mkdir -p "$cache/jars"
  mvn -q -B -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
    -DoutputDirectory="$cache/jars" >&2 || die 'the Kafka broker could not be fetched from Maven Central'
  touch "$cache/jars/.complete"
}

start_kafka() {
  kafka_jars
  kafka_port=${LOOKASIDE_STACK_KAFKA_PORT:-$(free_port)}
  local controller uuid security=$data/security sasl_ssl sasl_plaintext ssl
  controller=$(free_port) sasl_ssl=$(free_port) sasl_plaintext=$(free_port) ssl=$(free_port)
  mkdir -p "$data/kafka"
  make_certificates "$security"
  local secure="SASL_SSL://127.0.0.1:$sasl_ssl,SASL_PLAINTEXT://127.0.0.1:$sasl_plaintext,SSL://127.0.0.1:$ssl"
  tr , '\n' <<<"$secure" >"$security/listeners"
  cat >"$data/server.properties" <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:$controller
listeners=PLAINTEXT://127.0.0.1:$kafka_port,CONTROLLER://127.0.0.1:$controller,$secure
advertised.listeners=PLAINTEXT://127.0.0.1:$kafka_port,$secure
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL
inter.broker.listener.name=PLAINTEXT
log.dirs=$data/kafka
offsets.topic.replication.factor=1
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
$(security_settings "$security")
CONF
  uuid=$(java -cp "$cache/jars/*" kafka.tools.StorageTool random-uuid 2>/dev/null)
  java -cp "$cache/jars/*" kafka.tools.StorageTool format -t "$uuid" -c "$data/server.properties" \
    --add-scram "SCRAM-SHA-256=[name=$kafka_user,password=$kafka_password]" \
    --add-scram "SCRAM-SHA-512=[name=$kafka_user,password=$kafka_password]" \
    >"$data/format.log" 2>&1 || die "the Kafka broker could not format its storage: $(tail -n 3 "$data/format.log")"
  java -Xmx1g -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$cache/jars/*" kafka.Kafka \
    "$data/server.properties" >"$data/kafka.log" 2>&1 &
  pids+=($!)
}

start_mariadb() {
  need mariadbd mariadb-server
  mysql_port=${LOOKASIDE_STACK_MYSQL_PORT:-$(free_port)}
  mkdir -p "$data/mysql" "$data/mysql-run"
  local user=()
  if [ "$(id -u)" = 0 ]; then
    chmod 755 "$data"
    chown -R mysql: "$data/mysql" "$data/mysql-run"
    user=(--user=mysql)
  fi
  mariadb-install-db --no-defaults "${user[@]}" --datadir="$data/mysql" \
    --auth-root-authentication-method=normal --skip-test-db >"$data/mysql-install.log" 2>&1 ||
    die "MariaDB could not make its data folder: $(tail -n 3 "$data/mysql-install.log")"
  mariadbd --no-defaults "${user[@]}" --datadir="$data/mysql" --bind-address=127.0.0.1 \
    --port="$mysql_port" --socket="$data/mysql-run/mysqld.sock" --pid-file="$data/mysql-run/mysqld.pid" \
    --skip-name-resolve --max-connections=1000 --innodb-flush-log-at-trx-commit=2 --character-set-server=utf8mb4 \
    >"$data/mysql.log" 2>&1 </dev/null &
  pids+=($!)
}

# promtool, which checks metrics, alerts and dashboard. Debian's package brings a service along, so it is
# unpacked and not installed; that needs no rights either.
fetch_promtool() {
  command -v promtool >/dev/null 2>&1 && return
  [ -x "$cache/prometheus/usr/bin/promtool" ] && return
  command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 ||
    { say 'promtool is missing and cannot be fetched: install Prometheus; tests that need it are skipped'; return; }
  say 'fetching promtool'
  rm -rf "$cache/prometheus"
  mkdir -p "$cache/prometheus"
  (
    cd "$cache/prometheus"
    if ! apt-get download -qq prometheus >&2 2>/dev/null; then
      [ "$(id -u)" = 0 ] && apt-get update -qq >&2
      apt-get download -qq prometheus >&2
    fi
    dpkg-deb -x prometheus_*.deb .
    rm prometheus_*.deb
  ) || say 'promtool could not be fetched; tests that need it are skipped'
}

stop() {
  local pid
  for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]:-}"; do
    for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
  done
  [ -n "$data" ] && rm -rf "$data"
  [ -n "${compose:-}" ] && docker compose -p "$compose" -f "$here/compose.yaml" down -v >/dev/null 2>&1 || true
}

start_container() {
  compose=lookaside-test-$$
  mysql_port=$(free_port)
  export MYSQL_PORT=$mysql_port
  docker compose -p "$compose" -f "$here/compose.yaml" up -d --wait >&2 || die 'docker compose could not start MySQL'
}

[ "${1:-}" = run ] && [ $# -ge 2 ] || die 'usage: stack.sh run COMMAND…'
shift
pids=()
trap stop EXIT
trap 'exit 130' INT TERM
need python3 python3
data=$(mktemp -d "${TMPDIR:-/tmp}/lookaside-stack.XXXXXX")
start_kafka
fetch_promtool
if docker info >/dev/null 2>&1; then
  start_container
else
  start_mariadb
  wait_port "$mysql_port" 60 'MariaDB' "$data/mysql.log"
fi
wait_port "$kafka_port" 60 'the Kafka broker' "$data/kafka.log"
export LOOKASIDE_TEST_KAFKA=127.0.0.1:$kafka_port LOOKASIDE_TEST_MYSQL=127.0.0.1:$mysql_port
export LOOKASIDE_TEST_KAFKA_LOGS=$data/kafka LOOKASIDE_TEST_KAFKA_JARS=$cache/jars LOOKASIDE_TEST_SECURITY=$data/security
say "Kafka at $LOOKASIDE_TEST_KAFKA, MySQL protocol at $LOOKASIDE_TEST_MYSQL"
"$@"
