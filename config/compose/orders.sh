#!/bin/sh
# Orders for compose.yaml: makes the topic of config/examples/order-enrichment.yaml, then places, changes and cancels
# orders of eight users, five a second. Users 7 and 8 are in no dimension table.
set -eu
bin=${KAFKA_BIN:-/opt/kafka/bin}
topic=${TOPIC:-mqTest02}

"$bin/kafka-topics.sh" --bootstrap-server "$KAFKA" --create --if-not-exists --topic "$topic" \
  --partitions 4 --replication-factor 1 --config cleanup.policy=compact
touch "${READY_FILE:-/tmp/topic-is-there}"

# Key and value of one order a line; the word that the producer turns into a tombstone cancels.
orders() {
  number=0
  while :; do
    user=$((number * 5 % 8 + 1))
    if [ $((number % 9)) = 8 ]; then
      value=CANCELLED
    else
      amount=$((number * 37 % 200 + 1))
      value="{\"user_id\":$user,\"order_amount\":$amount,\"sname\":\"shop-$((number % 3))\",\"log_ts\":\"$(date -u '+%Y-%m-%d %H:%M:%S')\"}"
    fi
    printf '{"user_id":%s}|%s\n' "$user" "$value"
    number=$((number + 1))
    sleep "${PAUSE:-0.2}"
  done
}

orders | "$bin/kafka-console-producer.sh" --bootstrap-server "$KAFKA" --topic "$topic" \
  --property parse.key=true --property 'key.separator=|' --property null.marker=CANCELLED
