//! Dimension tables: address, credentials, columns, cache.

use std::time::Duration;

use crate::config::TableDefinition;
use crate::config::options::TableOptions;
use crate::model::Type;

use super::super::{CachePlan, DimensionConnector, MysqlTable, Secret, SqliteTable};
use super::context::Context;
use super::schema::{Schema, SchemaKind};
use super::url;

/// Fraction digits of MySQL's TIME, DATETIME and TIMESTAMP (Flink: F.3, "Types").
const DIGITS_MAX: u8 = 6;

/// Where a dimension table is.
pub(super) fn connector(
    context: &mut Context,
    table: &TableDefinition,
    options: &TableOptions,
) -> Option<DimensionConnector> {
    if is_sqlite(table) {
        return sqlite_table(context, options).map(DimensionConnector::Sqlite);
    }
    mysql_table(context, table, options).map(DimensionConnector::Mysql)
}

fn is_sqlite(table: &TableDefinition) -> bool {
    table.connector.as_ref().is_some_and(|connector| connector.value() == "sqlite")
}

/// File and name of a table.
fn sqlite_table(context: &mut Context, options: &TableOptions) -> Option<SqliteTable> {
    match url::sqlite_path(options.text("url")?) {
        Ok(path) => Some(SqliteTable { path, table: options.text("table-name")?.trim().to_owned() }),
        Err((what, help)) => {
            context.fault(&options.span("url"), what, help);
            None
        }
    }
}

/// Server, credentials and name of a table.
pub(super) fn mysql_table(
    context: &mut Context,
    table: &TableDefinition,
    options: &TableOptions,
) -> Option<MysqlTable> {
    let address = options.text("url")?;
    let server = match url::parse(address) {
        Ok(server) => server,
        Err((what, help)) => {
            context.fault(&options.span("url"), what, help);
            return None;
        }
    };
    if !server.ignored.is_empty() {
        let names = format!("url parameters {}", server.ignored.join(", "));
        context.note(&table.name.written, &names, "only a Java client uses them");
    }
    let given = |name: &str| table.options.iter().any(|entry| entry.key.written == name);
    if given("username") != given("password") {
        let (one, other) =
            if given("username") { ("username", "password") } else { ("password", "username") };
        let what = format!("'{one}' is given without '{other}'");
        context.fault(&options.span(one), what, "give both, or neither");
    }
    let option = |name: &str| options.text(name).map(str::to_owned);
    Some(MysqlTable {
        host: server.host,
        port: server.port,
        database: server.database,
        table: options.text("table-name")?.trim().to_owned(),
        username: option("username").or(server.username),
        password: option("password").or(server.password).map(Secret::new),
        tls: server.tls.unwrap_or(true),
        connect_timeout: options.duration("connection.max-retry-timeout").unwrap_or(Duration::from_secs(60)),
    })
}

/// Columns of a database table: physical ones, of types that a database has.
pub(super) fn check_columns(context: &mut Context, schema: &Schema, table: &TableDefinition) {
    let sqlite = is_sqlite(table);
    let name = if sqlite { "SQLite" } else { "MySQL" };
    for column in &schema.columns {
        if !matches!(column.kind, SchemaKind::Physical(_)) {
            let what =
                format!("column '{}' is not physical: a database table has no other columns", column.name);
            context.fault(&column.item.span, what, "compute it in 'select' or 'condition'");
        }
        if let Type::Timestamp(digits) | Type::TimestampLtz(digits) | Type::Time(digits) = column.ty.kind
            && !sqlite
            && DIGITS_MAX < digits
        {
            let what = format!(
                "column '{}' is {}, and MySQL keeps at most {DIGITS_MAX} digits",
                column.name, column.ty.kind
            );
            context.fault(&column.item.span, what, format!("declare it with at most {DIGITS_MAX}"));
        }
        let has_no_place = matches!(column.ty.kind, Type::Row(_) | Type::Array(_) | Type::Map(..));
        if has_no_place {
            let what =
                format!("column '{}' is {}, which a {name} table cannot hold", column.name, column.ty.kind);
            context.fault(&column.item.span, what, "leave it out of 'columns'");
        }
    }
}

/// `lookup.cache` and its companions, the older names included (Flink: E.4).
pub(super) fn cache(context: &mut Context, options: &TableOptions) -> Option<CachePlan> {
    const ROWS: &str = "lookup.partial-cache.max-rows";
    const WRITE: &str = "lookup.partial-cache.expire-after-write";
    const ACCESS: &str = "lookup.partial-cache.expire-after-access";
    const MISSING: &str = "lookup.partial-cache.cache-missing-key";
    const MISSING_TTL: &str = "lookup.partial-cache.missing-key-expire-after-write";
    if options.choice("lookup.cache") != "PARTIAL" {
        for name in [ROWS, WRITE, ACCESS, MISSING, MISSING_TTL] {
            if options.is_written(name) {
                let what = format!("'{name}' is given, but 'lookup.cache' is not PARTIAL");
                context.fault(&options.span(name), what, "set lookup.cache: PARTIAL, or leave it out");
            }
        }
        return legacy_cache(context, options);
    }
    let max_rows = options.integer(ROWS).and_then(|rows| u64::try_from(rows).ok());
    let cache = CachePlan {
        max_rows,
        expire_after_write: options.duration(WRITE),
        expire_after_access: options.duration(ACCESS),
        cache_missing_key: options.boolean(MISSING),
        missing_key_ttl: options.duration(MISSING_TTL),
    };
    if ![ROWS, WRITE, ACCESS].iter().any(|bound| options.is_given(bound)) {
        let help = format!("give at least one of '{ROWS}', '{WRITE}' and '{ACCESS}'");
        context.fault(
            &options.span("lookup.cache"),
            "a PARTIAL cache without any bound would grow for ever",
            help,
        );
    }
    if !cache.cache_missing_key && cache.missing_key_ttl.is_some() {
        context.fault(
            &options.span(MISSING_TTL),
            format!("'{MISSING_TTL}' is given, but '{MISSING}' is false"),
            "leave one of them out",
        );
    }
    Some(cache)
}

fn legacy_cache(context: &mut Context, options: &TableOptions) -> Option<CachePlan> {
    const ROWS: &str = "lookup.cache.max-rows";
    const TTL: &str = "lookup.cache.ttl";
    const MISSING: &str = "lookup.cache.caching-missing-key";
    match (options.is_written(ROWS), options.is_written(TTL)) {
        (true, true) => {}
        (false, false) => {
            if options.is_written(MISSING) {
                context.fault(
                    &options.span(MISSING),
                    format!("'{MISSING}' is given without '{ROWS}' and '{TTL}'"),
                    "give all three, or none",
                );
            }
            return None;
        }
        (rows, _) => {
            let (one, other) = if rows { (ROWS, TTL) } else { (TTL, ROWS) };
            context.fault(
                &options.span(one),
                format!("'{one}' is given without '{other}'"),
                "give both, or neither",
            );
            return None;
        }
    }
    let max_rows = options.integer(ROWS).and_then(|rows| u64::try_from(rows).ok()).filter(|rows| *rows != 0);
    // -1 means no cache, as in Flink.
    max_rows.map(|max_rows| CachePlan {
        max_rows: Some(max_rows),
        expire_after_write: options.duration(TTL),
        expire_after_access: None,
        cache_missing_key: !options.is_written(MISSING) || options.boolean(MISSING),
        missing_key_ttl: None,
    })
}
