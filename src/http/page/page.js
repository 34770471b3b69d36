// The page: takes snapshots from the event stream and shows them.
//
// A snapshot is complete in itself, so nothing is remembered between two of
// them but elements. Numbers that are metrics carry the metric's name.

import { attribute, bar, chart, each, h, LEVELS, s, strip, text } from "./draw.js";
import { bytes, count, percent, short, span, time, times } from "./format.js";

const find = (id) => document.getElementById(id);

// ---- parts that many places use

/** A number that is a metric: exact, named in its tooltip, and checked by a test against /metrics. */
function metric(selector) {
  return h("span", { class: "exact", "data-metric": selector, title: selector });
}

const table = (name) => JSON.stringify(name);

/** A line "label: value" in a list of facts. */
function fact(label, ...value) {
  const dd = h("dd", {}, ...value);
  return { element: h("div", {}, h("dt", {}, label), dd), value: dd };
}

/** A labelled share of time with a word for it. Flink calls up to 10 % OK and above 50 % high. */
function pressure(label, hint) {
  const meter = bar(["used"], label);
  const words = h("span", { class: "pressure-words" });
  const element = h("div", { class: "pressure", title: hint }, h("span", {}, label), words, meter.element);
  return {
    element,
    set(share) {
      const [word, kind] = share <= 0.1 ? ["ok", "good"] : share <= 0.5 ? ["low", "fair"] : ["high", "bad"];
      text(words, `${percent(share)} ${word}`);
      attribute(element, "data-kind", kind);
      meter.set([share], `${percent(share)}, ${word}`);
    },
  };
}

// ---- the head

const facts = {
  lag: fact("Lag"),
  commit: fact("Last commit"),
  cpu: fact("CPU"),
  memory: fact("Memory"),
  uptime: fact("Up"),
};
find("facts").append(...Object.values(facts).map((one) => one.element));

function head(now) {
  text(find("name"), now.name);
  document.title = `${now.name} · Lookaside`;
  const state = find("state");
  text(state, now.state === "running" && !now.ready ? "draining" : now.state);
  attribute(state, "data-kind", now.ready ? "good" : now.state === "stopped" ? "bad" : "fair");
  text(find("reason"), now.reason && now.reason !== now.state ? now.reason : "");
  text(facts.lag.value, count(now.partitions.lag));
  attribute(facts.lag.value, "data-metric", "lookaside_source_lag_records");
  const commit = now.sink.last_commit;
  text(facts.commit.value, commit === null ? "none yet" : `${span(now.now - commit)} ago`);
  text(facts.cpu.value, now.cores === null ? "–" : `${now.cores.toFixed(2)} cores`);
  text(facts.memory.value, now.resident_bytes === null ? "–" : bytes(now.resident_bytes));
  text(facts.uptime.value, span(now.now - now.started));
  text(find("version"), `lookaside ${now.version}`);
}

// ---- the graph

/** A node: a name, what it is, its rate, and what else `parts` shows. */
function node(kind, name, what, unit, ...parts) {
  const rate = h("strong", {});
  const wire = s(
    "svg",
    { class: "wire", viewBox: "0 0 28 12", "aria-hidden": "true" },
    s("path", { class: "rail", d: "M0 6H28" }),
    s("path", { class: "flow", d: "M0 6H28" }),
    s("path", { class: "tip", d: "M21 1.5L27 6L21 10.5" }),
  );
  const box = h(
    "div",
    { class: "node" },
    h("p", { class: "what" }, h("span", { class: "kind" }, kind), ` ${what}`),
    h("h3", {}, name),
    h("p", { class: "rate" }, rate, ` ${unit}`),
    ...parts.map((part) => part.element ?? part),
  );
  const element = h("li", {}, wire, box);
  return {
    element,
    rate(number) {
      text(rate, short(number));
      attribute(element, "data-flow", number > 0 ? "on" : "off");
    },
  };
}

const stats = (...lines) => h("dl", { class: "stats small" }, ...lines.map((line) => line.element));

const heldByLookups = () =>
  pressure("Held by lookups", "Part of the time that shards took no rows because their rows waited for lookups");

function sourceNode({ source }) {
  const rows = metric(`lookaside_source_records_total{table=${table(source.table)}}`);
  const speed = fact("Bytes/s");
  const history = chart("Rows per second in the last ten minutes");
  const pressed = pressure("Back-pressure", "Part of the time that nothing was read because a shard was full");
  const held = heldByLookups();
  const lines = stats(fact("Rows", rows), speed);
  const part = node("Source", source.table, source.connector, "rows/s", history, pressed, held, lines);
  part.update = ({ source, normalize, shards, lookups }) => {
    // Where nothing is normalized, lookups hold up what the source hands over.
    held.element.hidden = normalize !== null || lookups.length === 0;
    held.set(shards.held);
    part.rate(source.rows_per_second);
    history.set(source.chart, null, `now ${short(source.rows_per_second)}`);
    pressed.set(source.backpressure);
    text(rows, count(source.rows));
    text(speed.value, bytes(source.bytes_per_second));
  };
  return part;
}

function normalizeNode({ source }) {
  const name = table(source.table);
  const changes = metric(`lookaside_changes_total{table=${name}}`);
  const suppressed = metric(`lookaside_changes_suppressed_total{table=${name}}`);
  const keys = metric(`lookaside_state_keys{table=${name}}`);
  const size = fact("State");
  const pressed = heldByLookups();
  const lines = stats(fact("Changes", changes), fact("No change", suppressed), fact("Keys", keys), size);
  const part = node("Normalize", "ChangelogNormalize", "keyed state", "changes/s", pressed, lines);
  part.update = ({ normalize, shards }) => {
    part.rate(normalize.changes_per_second);
    pressed.set(shards.held);
    text(changes, count(normalize.changes));
    text(suppressed, count(normalize.suppressed));
    text(keys, count(normalize.keys));
    text(size.value, bytes(normalize.bytes));
  };
  return part;
}

function lookupNode(lookup) {
  const rate = h("span", { class: "hit" });
  const ring = bar(["used"], "Hit rate");
  const hits = h("div", { class: "pressure", "data-kind": "plain" }, h("span", {}, "Hit rate"), rate, ring.element);
  const latency = fact("Latency p99");
  const errors = fact("Errors");
  const name = lookup.alias === lookup.table ? lookup.alias : `${lookup.table} AS ${lookup.alias}`;
  const what = `${lookup.join} join · ${lookup.connector}`;
  const part = node("Lookup", name, what, "rows/s", hits, stats(latency, fact("Cache", lookup.cache), errors));
  part.update = (now) => {
    const lookup = now.lookups[part.number];
    part.rate(lookup.rows_per_second);
    text(rate, lookup.hit_rate === null ? "no rows" : percent(lookup.hit_rate));
    ring.set([lookup.hit_rate ?? 0], lookup.hit_rate === null ? "no rows" : percent(lookup.hit_rate));
    text(latency.value, lookup.p99 === null ? "–" : time(lookup.p99));
    text(errors.value, count(lookup.errors));
    attribute(errors.value, "data-kind", lookup.errors > 0 ? "bad" : null);
  };
  return part;
}

function sinkNode({ sink }) {
  const rows = metric(`lookaside_sink_rows_total{sink=${table(sink.table)}}`);
  const commits = metric('lookaside_commits_total{outcome="ok"}');
  const failures = metric('lookaside_commits_total{outcome="failed"}');
  const history = chart("Rows per second in the last ten minutes");
  const pressed = pressure("Waits for the sink", "Part of the shards' time that they waited for the sink to take rows");
  const lines = stats(fact("Rows", rows), fact("Commits", commits), fact("Failed", failures));
  const part = node("Sink", sink.table, sink.connector, "rows/s", history, pressed, lines);
  part.update = ({ sink }) => {
    part.rate(sink.rows_per_second);
    history.set(sink.chart, null, `now ${short(sink.rows_per_second)}`);
    pressed.set(sink.backpressure);
    text(rows, count(sink.rows));
    text(commits, count(sink.commits));
    text(failures, count(sink.commit_failures));
  };
  return part;
}

function graph(now) {
  const nodes = [{ key: "source", make: () => sourceNode(now) }];
  if (now.normalize) nodes.push({ key: "normalize", make: () => normalizeNode(now) });
  now.lookups.forEach((lookup, number) => {
    nodes.push({ key: `lookup ${number} ${lookup.alias}`, make: () => Object.assign(lookupNode(lookup), { number }) });
  });
  nodes.push({ key: "sink", make: () => sinkNode(now) });
  each(find("graph"), nodes, (one) => one.key, (one) => one.make(), (part) => part.update(now));
}

// ---- problems

function problem() {
  const [what, help, when] = [h("p", { class: "what" }), h("p", { class: "help" }), h("p", { class: "when" })];
  return { element: h("li", {}, what, help, when), what, help, when };
}

function problems(now) {
  const list = now.problems;
  find("no-problems").hidden = list.length > 0;
  text(find("problem-count"), list.length > 0 ? String(list.length) : "");
  const items = list.map((item, number) => ({ item, number }));
  each(find("problem-list"), items, (one) => one.number, problem, (part, { item }) => {
    attribute(part.element, "data-kind", item.is_error ? "bad" : "fair");
    text(part.what, `${item.is_error ? "Error" : "Warning"}: ${item.what}`);
    text(part.help, item.help === "" ? "" : `What to do: ${item.help}.`);
    const often = item.count > 1 ? `${count(item.count)} times, first ${span(now.now - item.first)} ago, last ` : "";
    text(part.when, `${often}${span(now.now - item.last)} ago`);
  });
}

// ---- lookups

const ANSWERS = [
  ["hits", "hit", "Hit", "answered by the cache"],
  ["coalesced", "coalesced", "Coalesced", "joined a request under way, or a twin in the same batch"],
  ["misses", "miss", "Miss", "the key went to the database"],
  ["no_key", "no_key", "No key", "NULL key or condition: no call"],
];

function lookupCard(lookup) {
  const alias = table(lookup.alias);
  const history = chart("Hit rate in the last ten minutes");
  const big = h("strong", {});
  const answered = bar(ANSWERS.map(([, result]) => `answer-${result}`), "Rows by how they were answered");
  const numbers = ANSWERS.map(([, result]) => metric(`lookaside_lookups_total{table=${alias},result="${result}"}`));
  const legend = ANSWERS.map(([, result, label, hint], i) =>
    h("li", { title: hint }, h("i", { class: `answer-${result}` }), `${label} `, numbers[i]),
  );
  const negative = metric(`lookaside_cache_negative_hits_total{table=${alias}}`);
  const entries = metric(`lookaside_cache_entries{table=${alias}}`);
  const capacity = metric(`lookaside_cache_capacity_entries{table=${alias}}`);
  const statements = metric(`lookaside_lookup_statements_total{table=${alias}}`);
  const errors = metric(`lookaside_lookup_errors_total{table=${alias}}`);
  const fill = bar(["used"], "Cache");
  const bound = h("span", {}, " of ", capacity);
  const [perSecond, perStatement, p50, p99] = ["Statements/s", "Keys per statement", "Latency p50", "Latency p99"].map((label) => fact(label));
  const size = h("div", { class: "pressure", "data-kind": "plain" }, h("span", {}, "Cached keys"), h("span", {}, entries, bound), fill.element);
  const tags = [`${lookup.join} join`, lookup.connector, lookup.cache].map((tag) => h("span", { class: "tag" }, tag));
  const expired = metric(`lookaside_cache_expired_total{table=${alias}}`);
  const evicted = metric(`lookaside_cache_evictions_total{table=${alias}}`);
  const counts = [["Statements", statements], ["Errors", errors], ["Hits on absence", negative], ["Expired", expired], ["Evicted", evicted]];
  const lines = [perSecond, perStatement, p50, p99, ...counts.map(([label, number]) => fact(label, number))];
  const name = lookup.alias === lookup.table ? lookup.alias : `${lookup.table} AS ${lookup.alias}`;
  const element = h(
    "article",
    { class: "card" },
    h("header", {}, h("h3", {}, name), h("p", { class: "tags" }, ...tags)),
    h("div", { class: "hit-rate" }, h("p", {}, big, " hit rate"), history.element, h("p", { class: "axis" }, h("span", {}, "10 min ago"), h("span", {}, "0 to 100 %"), h("span", {}, "now"))),
    answered.element,
    h("ul", { class: "legend" }, ...legend),
    size,
    h("dl", { class: "stats" }, ...lines.map((line) => line.element)),
  );
  return { element, history, big, answered, numbers, negative, expired, evicted, entries, capacity, bound, fill, size, statements, errors, perSecond, perStatement, p50, p99 };
}

function showLookup(part, lookup) {
  text(part.big, lookup.hit_rate === null ? "–" : percent(lookup.hit_rate));
  part.history.set(lookup.chart, 1, lookup.hit_rate === null ? "no rows now" : `now ${percent(lookup.hit_rate)}`);
  const answers = ANSWERS.map(([name]) => lookup[name]);
  const sum = answers.reduce((sum, answer) => sum + answer, 0);
  part.answered.set(
    answers.map((answer) => (sum === 0 ? 0 : answer / sum)),
    ANSWERS.map(([, , label], i) => `${label} ${answers[i]}`).join(", "),
  );
  answers.forEach((answer, i) => text(part.numbers[i], count(answer)));
  text(part.negative, count(lookup.negative_hits));
  text(part.expired, count(lookup.expired));
  text(part.evicted, count(lookup.evicted));
  text(part.entries, count(lookup.entries));
  text(part.capacity, count(lookup.capacity));
  part.bound.hidden = lookup.capacity === 0;
  part.size.hidden = lookup.cache === "no cache";
  part.fill.set([lookup.capacity === 0 ? 0 : lookup.entries / lookup.capacity], `${lookup.entries} of ${lookup.capacity}`);
  text(part.statements, count(lookup.statements));
  text(part.errors, count(lookup.errors));
  attribute(part.errors, "data-kind", lookup.errors > 0 ? "bad" : null);
  text(part.perSecond.value, short(lookup.statements_per_second));
  text(part.perStatement.value, lookup.keys_per_statement === null ? "–" : short(lookup.keys_per_statement));
  text(part.p50.value, lookup.p50 === null ? "–" : time(lookup.p50));
  text(part.p99.value, lookup.p99 === null ? "–" : time(lookup.p99));
}

function lookups(now) {
  find("no-lookups").hidden = now.lookups.length > 0;
  const items = now.lookups.map((lookup, number) => ({ lookup, key: `${number} ${lookup.alias}` }));
  each(find("lookup-list"), items, (one) => one.key, (one) => lookupCard(one.lookup), (part, one) => showLookup(part, one.lookup));
}

// ---- shards and key groups

const spread = {
  shards: fact("Shards"),
  groups: fact("Key groups"),
  skew: fact("Busiest shard"),
  groupSkew: fact("Busiest key group"),
};
find("spread").append(...Object.values(spread).map((one) => one.element));
find("legend").append(
  "Load of a cell over the mean: ",
  ...LEVELS.map((bound, i) => {
    const words = i === 0 ? "none" : bound === Infinity ? `> ${LEVELS[i - 1]} ×` : `≤ ${bound} ×`;
    return h("span", {}, s("svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": "true" }, s("rect", { class: `load-${i}`, width: "1", height: "1" })), words);
  }),
);

const TIMES = [
  ["busy", "busy", "busy"],
  ["held", "held", "waits for lookups"],
  ["sink", "sink", "waits for the sink"],
];

function shardRow(shard) {
  const cells = strip((cell) => readout(shard.number, cell));
  const used = bar(TIMES.map(([, kind]) => `time-${kind}`), `Time of shard ${shard.number}`);
  const records = metric(`lookaside_shard_records_total{shard="${shard.number}"}`);
  const [rate, words] = [h("strong", {}), h("span", { class: "words" })];
  const element = h(
    "div",
    { class: "shard" },
    h("p", { class: "shard-name" }, h("b", {}, `Shard ${shard.number}`), h("span", { class: "quiet" }, ` groups ${shard.first_group}–${shard.last_group}`)),
    h("p", { class: "shard-rate" }, rate, " rows/s, ", records, " rows"),
    cells.element,
    h("div", { class: "shard-time" }, used.element, words),
  );
  return { element, cells, used, records, rate, words };
}

let latest = null;
let pointed = null;

function readout(number, cell) {
  pointed = cell === null ? null : { number, cell };
  if (latest) showReadout(latest);
}

function showReadout({ shards }) {
  const shard = pointed && shards.list.find((one) => one.number === pointed.number);
  const load = shard?.cells[pointed.cell];
  if (load === undefined) {
    text(find("cell"), shards.keyed ? "Point at a cell to read it." : "Append-only rows have no key: each partition goes to one shard.");
    return;
  }
  const first = shard.first_group + pointed.cell * shards.groups_per_cell;
  const last = Math.min(first + shards.groups_per_cell - 1, shard.last_group);
  const name = first === last ? `Key group ${first}` : `Key groups ${first}–${last}`;
  text(find("cell"), `${name}, shard ${shard.number}: ${count(load)} rows in the last minute`);
}

/** A busiest shard above so many times the mean is worth a word. */
const SKEWED = 1.5;

function shards(now) {
  const { shards } = now;
  text(spread.shards.value, count(shards.count));
  text(spread.groups.value, count(shards.groups));
  text(spread.skew.value, shards.skew === 0 ? "no load" : `${times(shards.skew)} the mean`);
  text(spread.groupSkew.value, shards.group_skew === 0 ? "no load" : `${times(shards.group_skew)} the mean`);
  spread.groupSkew.element.hidden = !shards.keyed;
  find("skew-note").hidden = !shards.keyed || shards.skew <= SKEWED;
  find("legend").hidden = !shards.keyed;
  const cells = shards.list.flatMap((shard) => shard.cells);
  const mean = cells.reduce((sum, cell) => sum + cell, 0) / Math.max(1, cells.length);
  each(find("shard-list"), shards.list, (shard) => shard.number, shardRow, (part, shard) => {
    text(part.rate, short(shard.records_per_second));
    text(part.records, count(shard.records));
    const shares = TIMES.map(([name]) => shard[name]);
    const words = TIMES.map(([, , label], i) => `${label} ${percent(shares[i])}`).filter((_, i) => i === 0 || shares[i] >= 0.005);
    text(part.words, words.join(", "));
    part.used.set(shares, words.join(", "));
    attribute(part.cells.element, "hidden", shards.keyed ? null : "");
    part.cells.set(shard.cells, mean, `Load of the key groups of shard ${shard.number}`);
  });
  const more = shards.count - shards.list.length;
  find("more-shards").hidden = more <= 0;
  text(find("more-shards"), `${count(more)} shards with less load are not shown.`);
  showReadout(now);
}

// ---- partitions

function partitionRow(partition) {
  const labels = `topic=${table(partition.topic)},partition="${partition.partition}"`;
  const numbers = ["lag_records", "position_offset", "committed_offset", "end_offset"].map((name) => metric(`lookaside_source_${name}{${labels}}`));
  const behind = bar(["used"], `Lag of partition ${partition.partition}`);
  const note = h("span", { class: "quiet" });
  const name = h("th", { scope: "row" }, h("span", { class: "topic" }, partition.topic), ` ${partition.partition} `, note);
  const lag = h("td", { class: "wide" }, numbers[0], behind.element);
  const rest = numbers.slice(1).map((number, i) => h("td", { class: i === 0 ? "number" : "number roomy" }, number));
  return { element: h("tr", {}, name, lag, ...rest), numbers, behind, note };
}

function partitions(now) {
  const { partitions } = now;
  const largest = Math.max(1, ...partitions.list.map((one) => one.lag ?? 0));
  each(find("partition-list"), partitions.list, (one) => `${one.topic} ${one.partition}`, partitionRow, (part, one) => {
    [one.lag, one.position, one.committed, one.end].forEach((number, i) => text(part.numbers[i], number === null ? "–" : count(number)));
    part.behind.set([(one.lag ?? 0) / largest], one.lag === null ? "unknown" : String(one.lag));
    text(part.note, one.restored === null ? "" : `rebuilding state, ${percent(one.restored)}`);
  });
  const more = partitions.count - partitions.list.length;
  find("more-partitions").hidden = more <= 0 && partitions.count > 0;
  text(find("more-partitions"), partitions.count === 0 ? "No partition is assigned to this replica." : `${count(more)} partitions with less lag are not shown.`);
}

// ---- the stream

function show(now) {
  latest = now;
  head(now);
  graph(now);
  problems(now);
  lookups(now);
  shards(now);
  partitions(now);
  document.documentElement.dataset.ready = "";
}

/** Waits that belong to the page, in milliseconds. */
const [SILENCE, AGAIN, HIDDEN] = [5_000, 10_000, 10_000];

let stream = null;
let heard = Date.now();
let hiding = null;

function say(words) {
  const banner = find("banner");
  banner.hidden = words === "";
  text(banner, words);
  document.documentElement.toggleAttribute("data-stale", words !== "");
}

function open() {
  stream?.close();
  stream = new EventSource("api/v1/events");
  stream.addEventListener("open", definition);
  stream.addEventListener("snapshot", (event) => {
    heard = Date.now();
    say("");
    show(JSON.parse(event.data));
  });
  stream.addEventListener("error", () => {
    const ended = latest?.state === "stopped" || latest?.state === "draining";
    say(ended ? "The process has ended. This is its last state; the page looks for it again." : "The connection is lost. Trying again.");
    // A browser gives up after an answer that is no stream.
    if (stream.readyState === EventSource.CLOSED) refused();
  });
}

async function refused() {
  setTimeout(() => document.hidden || open(), AGAIN);
  const stop = new AbortController();
  try {
    const answer = await fetch("api/v1/events", { signal: stop.signal });
    if (!answer.ok) say(`${(await answer.text()).trim()}. Trying again in ${AGAIN / 1000} s.`);
  } catch {
    // Nobody answers, which the banner says already.
  } finally {
    stop.abort();
  }
}

async function definition() {
  try {
    const answer = await fetch("api/v1/definition");
    if (answer.ok) text(find("definition-text"), await answer.text());
  } catch {
    // The next connection brings it.
  }
}

setInterval(() => {
  const silent = Date.now() - heard;
  if (stream?.readyState === EventSource.OPEN && silent > SILENCE) say(`No news for ${span(silent)}.`);
}, 1_000);

// A page that nobody looks at costs the process nothing.
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) {
    hiding = setTimeout(() => {
      stream?.close();
      stream = null;
    }, HIDDEN);
  } else if (stream === null) {
    heard = Date.now();
    open();
  }
});

open();
