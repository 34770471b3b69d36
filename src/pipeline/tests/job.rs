//! Plans for tests, written in a few words, and rows written as text.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::Millis;
use crate::expr::{Column, Expression, Scope, Settings};
use crate::keygroup::KeyHash;
use crate::model::{DataType, RowKind, Type, Value};
use crate::pipeline::driver::{ChangelogRow, Driver, MemoryTable, Order, Setting};
use crate::plan::*;

pub const INT: Type = Type::Int;
pub const STRING: Type = Type::STRING;

/// A job in the making.
#[derive(Clone, Debug)]
pub struct Job {
    pub plan: Plan,
    scope: Scope,
    tables: Vec<Table>,
}

/// A dimension table and its rows as text.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    columns: Vec<(String, Type)>,
    rows: String,
}

fn compile(text: &str, scope: &Scope) -> Expression {
    let settings = Settings { time_zone: "UTC".into() };
    Expression::compile(text, scope, &settings).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn client() -> KafkaClient {
    KafkaClient { bootstrap_servers: "nowhere:9092".into(), settings: Vec::new() }
}

fn json() -> Format {
    Format::Json(JsonOptions {
        fail_on_missing_field: false,
        ignore_parse_errors: false,
        timestamp_format: TimestampFormat::Sql,
        map_null_key: MapNullKey::Fail,
        decimal_as_plain_number: true,
        ignore_null_fields: false,
    })
}

impl Job {
    /// A stream `s` with these columns; `key` are the first so many.
    pub fn new(columns: &[(&str, Type)], key: usize) -> Self {
        let ty = |i: usize, ty: &Type| DataType { kind: ty.clone(), nullable: key <= i };
        let physical = columns.iter().enumerate().map(|(i, (name, kind))| PhysicalColumn {
            name: (*name).into(),
            ty: ty(i, kind),
            ordinal: i,
        });
        let stream = columns.iter().enumerate().map(|(i, (name, kind))| StreamColumn {
            name: (*name).into(),
            ty: ty(i, kind),
            source: ColumnSource::Physical(i),
        });
        let scope = columns.iter().enumerate().map(|(i, (name, kind))| Column {
            qualifier: "s".into(),
            name: (*name).into(),
            ty: ty(i, kind),
        });
        let source = SourcePlan {
            table: "s".into(),
            kind: if key == 0 { SourceKind::Kafka } else { SourceKind::UpsertKafka },
            topics: Topics::List(vec!["t".into()]),
            discovery: Millis::MAX,
            client: client(),
            group_id: "g".into(),
            startup: Startup::Earliest,
            bounded: Bounded::Unbounded,
            key_format: (key != 0).then(json),
            value_format: json(),
            value_includes_key: true,
            key_prefix: String::new(),
            physical_arity: columns.len(),
            physical: physical.collect(),
            key_columns: (0..key).collect(),
            columns: stream.collect(),
            key_mismatch_is_error: false,
            on_empty_value: EmptyValue::Error,
            lossy_conversion: false,
        };
        let normalize = (key != 0).then(|| NormalizePlan {
            primary_key: (0..key).collect(),
            key_filter: None,
            filter: None,
            ttl: None,
            mini_batch: None,
        });
        let plan = Plan {
            name: "test".into(),
            source,
            normalize,
            lookups: Vec::new(),
            filter: None,
            project: ProjectPlan { columns: Vec::new() },
            sink: SinkPlan {
                table: "out".into(),
                connector: SinkConnector::Print { identifier: String::new(), standard_error: false },
                primary_key: Vec::new(),
                encoding: Encoding::Retract,
            },
            options: Options {
                parallelism: None,
                max_parallelism: None,
                key_hash: KeyHash::FlinkSql,
                time_zone: "UTC".into(),
                commit_interval: Duration::from_secs(1),
            },
            notes: Vec::new(),
        };
        Self { plan, scope: Scope { columns: scope.collect() }, tables: Vec::new() }
            .select(&columns.iter().map(|(name, _)| *name).collect::<Vec<_>>())
    }

    pub fn normalize(mut self, set: impl FnOnce(&mut NormalizePlan)) -> Self {
        set(self.plan.normalize.as_mut().unwrap());
        self
    }

    pub fn filter(self, text: &str) -> Self {
        let filter = compile(text, &self.scope);
        self.normalize(|plan| plan.filter = Some(filter))
    }

    pub fn key_filter(self, text: &str) -> Self {
        let filter = compile(text, &self.scope);
        self.normalize(|plan| plan.key_filter = Some(filter))
    }

    pub fn ttl(self, millis: u64) -> Self {
        self.normalize(|plan| plan.ttl = Some(Duration::from_millis(millis)))
    }

    pub fn mini_batch(self, size: usize, latency: u64) -> Self {
        self.normalize(|plan| {
            plan.mini_batch = Some(MiniBatch { latency: Duration::from_millis(latency), size });
        })
    }

    /// A filter after the lookups.
    pub fn r#where(mut self, text: &str) -> Self {
        self.plan.filter = Some(compile(text, &self.scope));
        self
    }

    pub fn select(mut self, items: &[&str]) -> Self {
        let item = |text: &&str| {
            let value = compile(text, &self.scope);
            OutputColumn { name: (*text).into(), ty: value.ty().clone(), value }
        };
        self.plan.project.columns = items.iter().map(item).collect();
        self
    }

    /// A lookup in `table`; see [`LookupSpec`]. Everything is selected until `select` says otherwise.
    pub fn lookup(mut self, table: &str, columns: &[(&str, Type)], spec: LookupSpec<'_>) -> Self {
        let before = self.scope.clone();
        let of_table = |(name, kind): &(&str, Type)| Column {
            qualifier: table.into(),
            name: (*name).into(),
            ty: kind.clone().nullable(),
        };
        let own = Scope { columns: columns.iter().map(of_table).collect() };
        self.scope.columns.extend(own.columns.clone());
        let key: Vec<KeyPart> =
            spec.key.iter().map(|(column, text)| key_part(columns, column, text, &before)).collect();
        let streaming = |at: &usize| matches!(key[*at].source, KeySource::Stream(_));
        self.plan.lookups.push(LookupPlan {
            table: table.into(),
            alias: table.into(),
            join: spec.join,
            connector: DimensionConnector::Mysql(MysqlTable {
                host: "nowhere".into(),
                port: 3306,
                database: "d".into(),
                table: table.into(),
                username: None,
                password: None,
                tls: true,
                connect_timeout: Duration::from_secs(1),
            }),
            hash_order: (0..key.len()).filter(streaming).collect(),
            key,
            columns: columns
                .iter()
                .map(|(name, kind)| DimensionColumn { name: (*name).into(), ty: kind.clone().nullable() })
                .collect(),
            pre_filter: spec.pre.map(|text| compile(text, &before)),
            dimension_filter: spec.dimension.map(|text| compile(text, &own)),
            residual: spec.residual.map(|text| compile(text, &self.scope)),
            hash: spec.hash,
            cache: spec.cache,
            max_retries: spec.max_retries,
        });
        self.tables.push(Table {
            name: table.into(),
            columns: columns.iter().map(|(name, kind)| ((*name).into(), kind.clone())).collect(),
            rows: spec.rows.into(),
        });
        let all: Vec<String> =
            self.scope.columns.iter().map(|column| format!("{}.{}", column.qualifier, column.name)).collect();
        self.select(&all.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub fn sink(mut self, encoding: Encoding, key: &[usize]) -> Self {
        self.plan.sink.encoding = encoding;
        self.plan.sink.primary_key = key.to_vec();
        self
    }

    pub fn upsert(self) -> Self {
        let key = self.plan.source.key_columns.len();
        self.sink(Encoding::UpsertBySourceKey, &(0..key).collect::<Vec<_>>())
    }

    pub fn driver(&self, setting: Setting) -> Driver {
        let mut driver = Driver::new(self.plan.clone(), setting).unwrap();
        for Table { name, columns, rows } in &self.tables {
            let mut table = MemoryTable::new(columns.iter().map(|(name, _)| name.clone()).collect());
            let types: Vec<Type> = columns.iter().map(|(_, ty)| ty.clone()).collect();
            for row in rows.split_whitespace() {
                table.insert(parse_row(row, &types));
            }
            driver.set_table(name, table);
        }
        driver
    }

    /// Feeds rows such as `+U(one,1,a) -D(one,∅,∅)` and lets everything settle.
    pub fn feed(&self, driver: &mut Driver, rows: &str) {
        self.try_feed(driver, rows).unwrap_or_else(|error| panic!("{rows}: {error}"));
    }

    pub fn try_feed(&self, driver: &mut Driver, rows: &str) -> crate::error::Result<()> {
        for (kind, row) in self.parse(rows) {
            driver.feed_row(kind, &row, partition_of(&row))?;
        }
        driver.settle()
    }

    /// The same for rows below the committed offset.
    pub fn rebuild(&self, driver: &mut Driver, rows: &str) {
        for (kind, row) in self.parse(rows) {
            driver.rebuild_row(kind, &row, partition_of(&row)).unwrap();
        }
        driver.settle().unwrap();
    }

    /// The same for rows that came while the job stood still.
    pub fn resume(&self, driver: &mut Driver, rows: &str) {
        for (kind, row) in self.parse(rows) {
            driver.doubtful_row(kind, &row, partition_of(&row)).unwrap();
        }
        driver.settle().unwrap();
    }

    pub fn parse(&self, rows: &str) -> Vec<(RowKind, Vec<Value>)> {
        let types: Vec<Type> = self.plan.source.columns.iter().map(|column| column.ty.kind.clone()).collect();
        let row = |text: &str| (RowKind::from_symbol(&text[..2]).unwrap(), parse_row(&text[2..], &types));
        rows.split_whitespace().map(row).collect()
    }

    /// Runs `input` in every setting. With one shard and rows one at a time the output is `expected` row for
    /// row; in the others it is the same per value of the first output column.
    pub fn check(&self, input: &str, expected: &str) {
        let want: Vec<String> = expected.split_whitespace().map(str::to_owned).collect();
        for setting in settings() {
            let mut driver = self.driver(setting);
            self.feed(&mut driver, input);
            assert!(driver.barrier().unwrap(), "{setting:?}: the epoch did not pass");
            let got = show_all(&driver.take_changelog().unwrap());
            if setting.shards == 1 && setting.order == Order::AsCaused {
                assert_eq!(got, want, "{setting:?}");
            } else {
                assert_eq!(per_key(&got), per_key(&want), "{setting:?}");
            }
        }
    }
}

/// The settings that must not make a difference.
pub fn settings() -> impl Iterator<Item = Setting> {
    let orders = [Order::AsCaused, Order::Seeded(11), Order::Seeded(222), Order::Seeded(3333)];
    [1, 4].into_iter().flat_map(move |shards| {
        [1, 2, 1000].into_iter().flat_map(move |batch| {
            orders.into_iter().map(move |order| Setting { shards, batch, start: 1_000_000, order })
        })
    })
}

/// What a lookup of a test is.
#[derive(Clone, Copy, Debug)]
pub struct LookupSpec<'a> {
    pub join: JoinKind,
    /// Dimension column and stream expression; a literal is a constant.
    pub key: &'a [(&'a str, &'a str)],
    pub pre: Option<&'a str>,
    pub dimension: Option<&'a str>,
    pub residual: Option<&'a str>,
    pub hash: bool,
    pub cache: Option<CachePlan>,
    pub max_retries: u32,
    /// Rows of the dimension table.
    pub rows: &'a str,
}

pub const CACHE: CachePlan = CachePlan {
    max_rows: Some(10_000),
    expire_after_write: None,
    expire_after_access: None,
    cache_missing_key: true,
    missing_key_ttl: None,
};

pub fn inner<'a>(key: &'a [(&'a str, &'a str)], rows: &'a str) -> LookupSpec<'a> {
    LookupSpec {
        join: JoinKind::Inner,
        key,
        pre: None,
        dimension: None,
        residual: None,
        hash: false,
        cache: Some(CACHE),
        max_retries: 3,
        rows,
    }
}

pub fn left<'a>(key: &'a [(&'a str, &'a str)], rows: &'a str) -> LookupSpec<'a> {
    LookupSpec { join: JoinKind::Left, ..inner(key, rows) }
}

fn key_part(columns: &[(&str, Type)], column: &str, text: &str, scope: &Scope) -> KeyPart {
    let (_, kind) = columns.iter().find(|(name, _)| *name == column).unwrap();
    let constant = Expression::compile(text, &Scope::default(), &Settings { time_zone: "UTC".into() });
    let (source, source_type) = match constant {
        Ok(constant) => (KeySource::Constant(constant.clone()), constant.ty().clone()),
        Err(_) => {
            let stream = compile(text, scope);
            (KeySource::Stream(stream.clone()), stream.ty().clone())
        }
    };
    let comparison = match (kind.is_integer(), source_type.kind.is_integer()) {
        (true, true) => Comparison::Integers,
        (true, false) if source_type.kind.is_text() => Comparison::TextAsInteger,
        (false, true) if kind.is_text() => Comparison::IntegerAsText,
        _ => Comparison::Same,
    };
    KeyPart { column: column.into(), ty: kind.clone().nullable(), source, source_type, comparison }
}

/// `(one,1,∅)` by types.
pub fn parse_row(text: &str, types: &[Type]) -> Vec<Value> {
    let cells = text.trim_start_matches('(').trim_end_matches(')').split(',');
    cells.zip(types).map(|(cell, ty)| parse_cell(cell, ty)).collect()
}

fn parse_cell(cell: &str, ty: &Type) -> Value {
    match ty {
        _ if cell == "∅" => Value::Null,
        Type::Int | Type::BigInt => Value::Int(cell.parse().unwrap()),
        Type::Boolean => Value::Bool(cell == "true"),
        _ => Value::Str(cell.into()),
    }
}

pub fn show_all(rows: &[ChangelogRow]) -> Vec<String> {
    rows.iter()
        .map(|(kind, row)| format!("{kind}({})", row.iter().map(show).collect::<Vec<_>>().join(",")))
        .collect()
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => "∅".into(),
        Value::Int(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::Str(v) => v.clone(),
        other => format!("{other:?}"),
    }
}

/// Rows by their first cell, in order.
pub fn per_key(rows: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        let key = row[3..].split([',', ')']).next().unwrap_or_default();
        keys.entry(key.to_owned()).or_default().push(row.clone());
    }
    keys
}

/// A key is always in the same partition.
fn partition_of(row: &[Value]) -> i32 {
    match row.first() {
        Some(Value::Int(v)) => i32::try_from(v.rem_euclid(3)).unwrap(),
        Some(Value::Str(v)) => v.bytes().map(i32::from).sum::<i32>() % 3,
        _ => 0,
    }
}
