//! A database of a test's own on the real server, dropped at the end.

use sqlx::Executor;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};

use crate::{stack, topic};

/// A fresh database.
pub struct Database {
    /// Its name.
    pub name: String,
    runtime: tokio::runtime::Runtime,
    pool: MySqlPool,
}

impl Database {
    /// Creates it.
    pub fn new(name: &str) -> Self {
        let name = topic::unique(name).replace('-', "_");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("runtime");
        let address = stack::mysql();
        let (host, port) = address.split_once(':').expect("host:port");
        let options =
            MySqlConnectOptions::new().host(host).port(port.parse().expect("port")).username("root");
        let pool = runtime.block_on(async {
            let admin = MySqlPoolOptions::new()
                .max_connections(1)
                .connect_with(options.clone())
                .await
                .expect("MySQL");
            let create = format!("CREATE DATABASE {name} CHARACTER SET utf8mb4");
            admin.execute(sqlx::AssertSqlSafe(create)).await.expect("create database");
            MySqlPoolOptions::new()
                .max_connections(4)
                .connect_with(options.database(&name))
                .await
                .expect("MySQL")
        });
        Self { name, runtime, pool }
    }

    /// Runs one statement.
    pub fn run(&self, sql: &str) {
        let statement = sqlx::AssertSqlSafe(sql.to_owned());
        self.runtime.block_on(self.pool.execute(statement)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Rows of a query, each column as text (`None` is NULL): select with CAST or CONCAT where needed.
    pub fn rows(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        use sqlx::Row;
        let statement = sqlx::AssertSqlSafe(sql.to_owned());
        let rows = self.runtime.block_on(sqlx::query(statement).fetch_all(&self.pool)).expect("query");
        rows.iter().map(|row| (0..row.len()).map(|i| row.get::<Option<String>, _>(i)).collect()).collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = sqlx::AssertSqlSafe(format!("DROP DATABASE {}", self.name));
        let _ = self.runtime.block_on(self.pool.execute(statement));
    }
}
