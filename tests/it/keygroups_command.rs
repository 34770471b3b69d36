//! `lookaside keygroups` as its user runs it. Expected hashes, groups and shards are Flink's.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value as Json, json};

use crate::database::Database;
use crate::topic::{self, Writer};
use crate::{replica, stack};

fn start(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lookaside"))
        .arg("keygroups")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lookaside starts");
    // A program that refuses its arguments does not read its input.
    let _ = child.stdin.take().expect("stdin").write_all(input.as_bytes());
    child.wait_with_output().expect("output")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Standard output of a run that goes well.
fn shown(arguments: &[&str]) -> String {
    let output = start(arguments, "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The JSON document of a run that goes well.
fn document(arguments: &[&str], input: &str) -> Json {
    let output = start(&[&["--output", "json"], arguments].concat(), input);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

/// Exit code and standard error of a run that fails; it prints no result.
fn refused(arguments: &[&str], input: &str) -> (i32, String) {
    let output = start(arguments, input);
    assert_eq!(text(&output.stdout), "");
    (output.status.code().expect("exit code"), text(&output.stderr))
}

fn column(document: &Json, name: &str) -> Vec<Json> {
    document["keys"].as_array().expect("keys").iter().map(|key| key[name].clone()).collect()
}

/// Lines of a table that begins with `head`, split at blanks.
fn table<'a>(text: &'a str, head: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(head));
    lines.skip(1).take_while(|line| !line.is_empty()).map(|line| line.split_whitespace().collect()).collect()
}

const SIX: [&str; 14] = [
    "--key-hash",
    "java",
    "--type",
    "INT",
    "--parallelism",
    "6",
    "--max-parallelism",
    "128",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
];

#[test]
fn six_integers_on_six_shards() {
    let text = shown(&SIX);
    let keys = [
        ["0", "0", "94", "4"],
        ["1", "1", "86", "4"],
        ["2", "2", "127", "5"],
        ["3", "3", "113", "5"],
        ["4", "4", "7", "0"],
        ["5", "5", "126", "5"],
    ];
    assert_eq!(table(&text, "key "), keys);
    let load: Vec<&str> = table(&text, "shard  ").iter().map(|row| row[2]).collect();
    assert_eq!(load, ["1", "0", "0", "0", "2", "3"]);
    assert!(
        text.contains("skew 3.00: 3 keys on the busiest shard, 1.00 on average; 3 of 6 shards idle"),
        "{text}"
    );
    let settings = table(&text, "setting");
    assert_eq!(settings[0], ["this", "6", "128", "3.00", "3", "3"]);
    assert_eq!(settings[1][..2], ["better", "6"], "{text}");
    assert_eq!(settings[1][3..], ["1.00", "1", "0"], "{text}");
}

#[test]
fn the_same_as_json_and_its_suggestions_hold() {
    let document_of_six = document(&SIX, "");
    let keys = json!([
        {"key": 0, "hash": 0, "key_group": 94, "shard": 4},
        {"key": 1, "hash": 1, "key_group": 86, "shard": 4},
        {"key": 2, "hash": 2, "key_group": 127, "shard": 5},
        {"key": 3, "hash": 3, "key_group": 113, "shard": 5},
        {"key": 4, "hash": 4, "key_group": 7, "shard": 0},
        {"key": 5, "hash": 5, "key_group": 126, "shard": 5},
    ]);
    assert_eq!(document_of_six["keys"], keys);
    assert_eq!(document_of_six["load"], json!([1, 0, 0, 0, 2, 3]));
    assert_eq!(document_of_six["skew"], json!(3.0));
    let best = &document_of_six["suggestions"][0];
    assert_eq!((&best["parallelism"], &best["load"]), (&json!(6), &json!([1, 1, 1, 1, 1, 1])));
    // Who takes the advice gets what it promised.
    let (parallelism, max) = (best["parallelism"].to_string(), best["max_parallelism"].to_string());
    let mut advised = SIX;
    (advised[5], advised[7]) = (parallelism.as_str(), max.as_str());
    assert_eq!(document(&advised, "")["load"], best["load"]);
}

#[test]
fn settings_are_compared_side_by_side() {
    let arguments = ["--type", "INT", "--parallelism", "6", "--compare", "4:128,3,7:1000", "0", "1", "5"];
    let text = shown(&arguments);
    let head = text.lines().next().expect("head");
    assert!(
        head.ends_with("hash  key group  shard  shard at 4:128  shard at 3:128  shard at 7:1000"),
        "{head}"
    );
    assert_eq!(table(&text, "key ")[2], ["5", "260196596", "19", "0", "0", "0", "6"], "{text}");
    let document = document(&arguments, "");
    assert_eq!(document["compared"][2]["places"][2], json!({"key_group": 939, "shard": 6}));
    assert_eq!(document["compared"][0]["load"], json!([1, 0, 1, 1]));
    let nine = ["--type", "INT", "--compare", "2,3,4,5,6,7,8,9,10", "1"];
    let (exit, complaint) = refused(&nine, "");
    assert!(exit == 2 && complaint.contains("at most 8"), "{complaint}");
}

/// Keys are typed as a definition would type them: type, text, hash and group of Flink's SQL exchange.
#[test]
fn texts_of_every_type_hash_as_in_flink() {
    let vectors = [
        ("INT", "-1", 1_133_687_267, 106),
        ("BIGINT", "-1", -821_098_432, 65),
        ("TINYINT", "-1", 2_004_758_659, 46),
        ("SMALLINT", "-1", 2_143_727_727, 75),
        ("INT", "null", -1_748_325_344, 99),
        ("TIMESTAMP(6)", "null", -340_882_661, 92),
        ("BOOLEAN", "true", 1_465_514_398, 94),
        ("FLOAT", "1.5", -173_842_779, 17),
        ("DOUBLE", "-0.0", 302_122_119, 102),
        ("STRING", "", 302_122_119, 102),
        ("STRING", "hello world, this is long", -1_146_437_367, 107),
        ("STRING", "日本語", -476_998_221, 70),
        ("CHAR(5)", "a", 943_281_246, 4),
        ("BYTES", "AQID", 1_066_645_297, 13),
        ("DECIMAL(10, 2)", "123.45", 767_607_022, 91),
        ("DECIMAL(18, 2)", "-123.45", 280_263_423, 111),
        ("DECIMAL(38, 0)", "12345678901234567890", 1_279_091_141, 6),
        ("DATE", "2020-01-02", 653_801_921, 0),
        ("TIME(3)", "01:02:03.004", -867_467_144, 27),
        ("TIMESTAMP(3)", "2020-01-02 03:04:05.678", 1_583_323_004, 91),
        ("TIMESTAMP(6)", "2020-01-02 03:04:05.678901", 1_748_124_303, 92),
        ("TIMESTAMP_LTZ(3)", "2020-01-02 03:04:05.678Z", 1_583_323_004, 91),
    ];
    for (ty, key, hash, group) in vectors {
        let document = document(&["--type", ty, "--parallelism", "6", "--", key], "");
        let found = &document["keys"][0];
        assert_eq!(
            (&found["hash"], &found["key_group"]),
            (&json!(hash), &json!(group)),
            "{ty} {key}: {found}"
        );
    }
}

#[test]
fn negative_numbers_are_keys_and_not_options() {
    let arguments = ["--type", "INT", "-1", "--parallelism", "6", "42", "-2147483648"];
    let document = document(&arguments, "");
    assert_eq!(column(&document, "key"), [-1_i64, 42, -2_147_483_648]);
    assert_eq!(column(&document, "key_group")[..2], [106, 69]);
    let (exit, complaint) = refused(&["--type", "INT", "--paralelism", "3", "1"], "");
    assert!(exit == 2 && complaint.contains("--parallelism"), "{complaint}");
}

#[test]
fn composite_keys_are_csv_or_json() {
    let types = ["--type", "INT", "--type", "STRING", "--parallelism", "6"];
    let arguments = [&types[..], &["1,a", "[1, \"a\"]", "1,null", "[1, null]", "[1, \"null\"]"]].concat();
    let pair = document(&arguments, "");
    assert_eq!(column(&pair, "hash")[..4], [-948_407_462, -948_407_462, -74_682_006, -74_682_006]);
    assert_eq!(column(&pair, "key_group")[..4], [107, 107, 122, 122]);
    assert_eq!(column(&pair, "key")[3..], [json!([1, null]), json!([1, "null"])]);
    let java = document(&[&types[..], &["--key-hash", "java", "1,a"]].concat(), "");
    assert_eq!((column(&java, "hash"), column(&java, "key_group")), (vec![json!(2081)], vec![json!(91)]));
    let wide = document(&["--type", "BIGINT", "--type", "BIGINT", "--keys", "-"], "100,1\r\n[100, 1]\r\n");
    assert_eq!(column(&wide, "hash"), [67_370_245, 67_370_245]);
    let texts = document(&["--type", "STRING", "--type", "STRING", "\"abcdefghi\",jklmnopqrst"], "");
    assert_eq!(column(&texts, "hash"), [-569_867_674]);
}

#[test]
fn keys_come_from_a_file_and_from_standard_input() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("keys.txt");
    std::fs::write(&path, "0\n1\n\n2\n3\n4\n5").expect("keys");
    let path = path.to_str().expect("UTF-8");
    let setting = ["--key-hash", "java", "--type", "INT", "--parallelism", "6", "--keys"];
    let from_file = document(&[&setting[..], &[path]].concat(), "");
    assert_eq!(column(&from_file, "shard"), [4, 4, 5, 5, 0, 5]);
    let piped = document(&[&setting[..], &["-"]].concat(), "0\r\n1\r\n2\r\n");
    assert_eq!(column(&piped, "shard"), [4, 4, 5]);
    let cut = document(&[&setting[..], &["-", "--limit", "2"]].concat(), "0\n1\n2\n");
    assert_eq!((column(&cut, "shard"), &cut["limited"]), (vec![json!(4), json!(4)], &json!(true)));
    let (exit, complaint) = refused(&[&setting[..], &["/no/such/file"]].concat(), "");
    assert!(exit == 2 && complaint.contains("/no/such/file"), "{complaint}");
}

#[test]
fn long_lists_are_cut_for_people_only() {
    let lines: String = (0..5_000).map(|i| format!("key-{i}\n")).collect();
    let arguments = ["--type", "STRING", "--keys", "-", "--parallelism", "100", "--max-parallelism", "1000"];
    let output = start(&arguments, &lines);
    let text = text(&output.stdout);
    assert!(text.contains("… and 4960 more keys") && text.contains("… and 36 more shards"), "{text}");
    let document = document(&arguments, &lines);
    assert_eq!(document["keys"].as_array().map(Vec::len), Some(5_000));
    let load = document["load"].as_array().expect("load");
    assert_eq!((load.len(), load.iter().filter_map(Json::as_u64).sum::<u64>()), (100, 5_000));
}

#[test]
fn what_cannot_be_a_key_or_a_setting_is_said() {
    let cases: [(&[&str], &str); 10] = [
        (&["--type", "INT", "1", "12x"], "key 2: `12x` as INT"),
        (&["--type", "TINYINT", "128"], "`128` as TINYINT"),
        (&["--type", "INT NOT NULL", "null"], "NULL as INT NOT NULL"),
        (&["--type", "INT", "--type", "STRING", "1"], "its types are 2: INT, STRING"),
        (&["--type", "INTT", "1"], "INTT"),
        (&["1"], "--type"),
        (&["--type", "INT"], "<KEY|--keys"),
        (&["--type", "BYTES", "--key-hash", "java", "AAA="], "Java hashes arrays by identity"),
        (&["--type", "INT", "--parallelism", "7", "--max-parallelism", "3", "1"], "at least one key group"),
        (&["--type", "INT", "--max-parallelism", "32769", "1"], "32768"),
    ];
    for (arguments, expected) in cases {
        let (exit, complaint) = refused(arguments, "");
        assert_eq!(exit, 2, "{complaint}");
        assert!(complaint.contains(expected), "{expected}: {complaint}");
    }
}

/// A definition with one topic and one dimension table.
struct Job {
    folder: tempfile::TempDir,
    kafka: String,
    mysql: String,
    topic: String,
    database: String,
    stream: &'static str,
    condition: &'static str,
}

impl Job {
    fn new(topic: &str, database: &str) -> Self {
        Self {
            folder: tempfile::tempdir().expect("folder"),
            kafka: stack::kafka(),
            mysql: stack::mysql(),
            topic: topic.to_owned(),
            database: database.to_owned(),
            stream: "upsert-kafka",
            condition: "u.id = orders.user_id",
        }
    }

    fn write(&self) -> String {
        let Self { kafka, mysql, topic, database, condition, .. } = self;
        let (stream, key) = match self.stream {
            "kafka" => ("connector: kafka\n    format: json", ""),
            _ => (
                "connector: upsert-kafka\n    key.format: json\n    value.format: json",
                ", \"PRIMARY KEY (user_id) NOT ENFORCED\"",
            ),
        };
        let text = format!(
            "name: {topic}
tables:
  orders:
    {stream}
    topic: {topic}
    properties.bootstrap.servers: {kafka}
    columns: [user_id INT NOT NULL, kind STRING{key}]
  users:
    connector: mysql
    url: mysql://{mysql}/{database}
    username: root
    password: ''
    table-name: users
    columns: [id INT, name STRING, region BIGINT, born DATE]
  out: {{connector: print}}
pipeline:
  from: orders
  lookup:
  - {{table: users, as: u, condition: \"{condition}\"}}
  select: [orders.user_id, u.name]
  into: out
options: {{parallelism: 6, max-parallelism: 128, key-hash: java}}
"
        );
        let path: PathBuf = self.folder.path().join("definition.yaml");
        std::fs::write(&path, text).expect("definition");
        path.to_str().expect("UTF-8").to_owned()
    }
}

fn order(id: u32) -> (String, String) {
    (format!("{{\"user_id\":{id}}}"), format!("{{\"user_id\":{id},\"kind\":\"x\"}}"))
}

#[test]
fn keys_come_from_the_source_topic() {
    let name = topic::unique("keygroups");
    topic::create(&name, 3);
    let writer = Writer::new(&name);
    for id in [0, 1, 2, 3, 4, 5, 0, 1, 2] {
        let (key, value) = order(id);
        writer.send(&key, Some(&value));
    }
    writer.send("{\"user_id\":5}", None);
    writer.flush();
    let job = Job::new(&name, "unused");
    let definition = job.write();
    let found = document(&["--definition", &definition, "--source"], "");
    let mut places: Vec<(i64, i64)> = (column(&found, "key").iter().zip(column(&found, "shard")))
        .map(|(key, shard)| (key.as_i64().expect("key"), shard.as_i64().expect("shard")))
        .collect();
    places.sort_unstable();
    assert_eq!(places, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 0), (5, 5)]);
    assert_eq!((&found["limited"], &found["key_hash"]), (&json!(false), &json!("java")));
    // Flags win over the definition.
    let flags = ["--definition", &definition, "--source", "--key-hash", "flink-sql", "--parallelism", "4"];
    let found = document(&flags, "");
    let at = column(&found, "key").iter().position(|key| *key == 5).expect("key 5");
    assert_eq!((&found["keys"][at]["hash"], &found["parallelism"]), (&json!(260_196_596), &json!(4)));
    let cut = document(&["--definition", &definition, "--source", "--limit", "4"], "");
    assert_eq!((column(&cut, "key").len(), &cut["limited"]), (4, &json!(true)));

    writer.send_to(Some(2), Some(b"{broken"), None);
    writer.flush();
    let (exit, complaint) = refused(&["--definition", &definition, "--source"], "");
    assert_eq!(exit, 5, "{complaint}");
    assert!(complaint.contains(&format!("topic {name}, partition 2, offset ")), "{complaint}");
}

#[test]
fn an_empty_topic_has_no_keys_and_a_missing_one_is_refused() {
    let name = topic::unique("keygroups-empty");
    topic::create(&name, 2);
    let mut job = Job::new(&name, "unused");
    let empty = document(&["--definition", &job.write(), "--source"], "");
    assert_eq!((column(&empty, "key").len(), &empty["load"]), (0, &json!([0, 0, 0, 0, 0, 0])));
    job.topic = topic::unique("keygroups-missing");
    let (exit, complaint) = refused(&["--definition", &job.write(), "--source"], "");
    assert_eq!(exit, 4, "{complaint}");
    assert!(complaint.contains("does not exist"), "{complaint}");
    job.kafka = format!("127.0.0.1:{}", replica::free_port());
    let (exit, complaint) = refused(&["--definition", &job.write(), "--source"], "");
    assert_eq!(exit, 4, "{complaint}");
    assert!(complaint.contains(&format!("Kafka at {} is unreachable", job.kafka)), "{complaint}");
    job.stream = "kafka";
    let (exit, complaint) = refused(&["--definition", &job.write(), "--source"], "");
    assert!(exit == 2 && complaint.contains("append-only"), "{complaint}");
}

#[test]
fn keys_come_from_a_column_of_a_dimension_table() {
    let database = Database::new("keygroups");
    database.run("CREATE TABLE users (id INT, name VARCHAR(20), region BIGINT, born DATE)");
    database.run(
        "INSERT INTO users VALUES (0, 'a', 100, NULL), (1, 'A', 101, '2020-01-02'), (1, 'a ', -1, NULL), \
         (2, 'hello', NULL, NULL), (3, 'é', 100, NULL), (4, 'a', 1, NULL), (5, NULL, 2, NULL), (NULL, 'a', 3, NULL)",
    );
    let job = Job::new("unused", &database.name);
    let definition = job.write();
    let of = |more: &[&str]| document(&[&["--definition", definition.as_str()], more].concat(), "");
    let placed = |document: &Json, what: &str| {
        let mut placed: Vec<String> = column(document, "key")
            .iter()
            .zip(column(document, what))
            .map(|(k, v)| format!("{k} {v}"))
            .collect();
        placed.sort_unstable();
        placed
    };
    let by_key = ["0 4", "1 4", "2 5", "3 5", "4 0", "5 5"];
    assert_eq!(placed(&of(&["--table", "users"]), "shard"), by_key);
    assert_eq!(placed(&of(&["--table", "u", "--column", "id"]), "shard"), by_key);
    let flink = ["--key-hash", "flink-sql"];
    let regions = of(&[&["--table", "users", "--column", "region"], &flink[..]].concat());
    let expected = ["-1 65", "1 94", "100 66", "101 88", "2 93", "3 112"];
    assert_eq!(placed(&regions, "key_group"), expected);
    // Distinct as the hash sees them, not as the collation does.
    let names = of(&["--table", "users", "--column", "name"]);
    let expected = ["\"A\" 65", "\"a \" 3039", "\"a\" 97", "\"hello\" 99162322", "\"é\" 233"];
    assert_eq!(placed(&names, "hash"), expected);
    let born = of(&[&["--table", "users", "--column", "born"], &flink[..]].concat());
    assert_eq!(placed(&born, "key_group"), ["\"2020-01-02\" 0"]);
    let pairs = of(&[&["--table", "users", "--column", "region", "--column", "id"], &flink[..]].concat());
    assert_eq!(column(&pairs, "key").len(), 6);
    let cut = of(&["--table", "users", "--limit", "5"]);
    assert_eq!((column(&cut, "key").len(), &cut["limited"]), (5, &json!(true)));
}

#[test]
fn a_dimension_table_that_cannot_be_asked_is_said() {
    let database = Database::new("keygroups_faults");
    let mut job = Job::new("unused", &database.name);
    let definition = job.write();
    let asked =
        |definition: &str, more: &[&str]| refused(&[&["--definition", definition], more].concat(), "");
    let (exit, complaint) = asked(&definition, &["--table", "users"]);
    assert!(exit == 4 && complaint.contains("has no table"), "{complaint}");
    let (exit, complaint) = asked(&definition, &["--table", "user"]);
    assert!(exit == 2 && complaint.contains("did you mean `users`?"), "{complaint}");
    let (exit, complaint) = asked(&definition, &["--table", "users", "--column", "nam"]);
    assert!(exit == 2 && complaint.contains("did you mean `name`?"), "{complaint}");
    database.run("CREATE TABLE users (id VARCHAR(20), name VARCHAR(20))");
    let (exit, complaint) = asked(&definition, &["--table", "users"]);
    assert!(exit == 4 && complaint.contains("cannot be declared INT"), "{complaint}");
    job.condition = "u.id = 1";
    let (exit, complaint) = asked(&job.write(), &["--table", "users"]);
    assert!(exit == 2 && complaint.contains("constant"), "{complaint}");
    job.mysql = format!("127.0.0.1:{}", replica::free_port());
    let (exit, complaint) = asked(&job.write(), &["--table", "users", "--column", "id"]);
    assert!(exit == 4 && complaint.contains("is unreachable"), "{complaint}");
    job.condition = "u.nothing = orders.user_id";
    let (exit, complaint) = asked(&job.write(), &["--table", "users"]);
    assert!(exit == 3 && complaint.contains("nothing"), "{complaint}");
}
