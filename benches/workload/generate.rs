//! Puts the benchmark's input in place: the topic of orders and the two dimension tables.

use std::fmt::Write;

use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};
use tokio::runtime::Runtime;

use super::orders::{Orders, PRODUCTS, USERS, Users};
use super::tables;
use super::topics::{Broker, Writer};
use crate::Result;

/// The benchmark's database; it is dropped and made anew.
pub const DATABASE: &str = "lookaside_bench";
/// Rows of one INSERT: far below the server's `max_allowed_packet`.
const INSERT_ROWS: u32 = 2_000;

/// Makes the topic and writes the first `rows` orders to it.
pub fn fill_topic(broker: &Broker, topic: &str, users: &Users, rows: u64) -> Result<()> {
    broker.create(topic, false)?;
    let mut writer = Writer::new(broker, topic, 50)?;
    for order in Orders::new(users, rows) {
        writer.write(&order)?;
    }
    writer.finish()?;
    match broker.appended(topic)? {
        appended if appended == rows.cast_signed() => Ok(()),
        appended => Err(format!("topic {topic} holds {appended} records instead of {rows}").into()),
    }
}

/// The database server, as the harness uses it.
pub struct Database {
    connection: MySqlConnection,
    runtime: Runtime,
}

impl Database {
    /// Connects to `host:port` as root without a password.
    pub fn connect(address: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connection = runtime.block_on(MySqlConnection::connect(&format!("mysql://root@{address}/")))?;
        Ok(Self { connection, runtime })
    }

    fn execute(&mut self, sql: String) -> Result<()> {
        self.runtime.block_on(self.connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))))?;
        Ok(())
    }

    /// Makes and fills `users` and `products`.
    pub fn fill_tables(&mut self) -> Result<()> {
        self.execute(format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        self.execute(format!("CREATE DATABASE {DATABASE}"))?;
        self.execute(format!(
            "CREATE TABLE {DATABASE}.users (id INT PRIMARY KEY, name VARCHAR(64), level INT, city VARCHAR(32))"
        ))?;
        self.execute(format!(
            "CREATE TABLE {DATABASE}.products (id INT PRIMARY KEY, title VARCHAR(64), price DECIMAL(10,2))"
        ))?;
        self.insert("users", USERS, |id| {
            tables::user(id).map(|user| format!("({id},'{}',{},'{}')", user.name, user.level, user.city))
        })?;
        self.insert("products", PRODUCTS, |id| {
            let product = tables::product(id)?;
            Some(format!("({id},'{}',{}.{:02})", product.title, product.cents / 100, product.cents % 100))
        })
    }

    fn insert(&mut self, table: &str, ids: u32, row: impl Fn(u32) -> Option<String>) -> Result<()> {
        for first in (0..ids).step_by(INSERT_ROWS as usize) {
            let rows: Vec<String> = (first..ids.min(first + INSERT_ROWS)).filter_map(&row).collect();
            let mut sql = String::new();
            write!(sql, "INSERT INTO {DATABASE}.{table} VALUES {}", rows.join(","))?;
            self.execute(sql)?;
        }
        Ok(())
    }

    /// SELECT statements that the server has answered since it started.
    pub fn selects(&mut self) -> Result<u64> {
        let status = sqlx::raw_sql("SHOW GLOBAL STATUS LIKE 'Com_select'");
        let row = self.runtime.block_on(self.connection.fetch_one(status))?;
        Ok(row.try_get::<String, _>(1)?.parse()?)
    }
}
