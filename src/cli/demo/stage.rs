//! What the demo's job runs on: a broker in this process, a SQLite file with the
//! dimension tables, and the definition that names both. All of it is gone when
//! the stage is dropped.

use std::path::PathBuf;

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use sqlx::Executor as _;
use sqlx::sqlite::SqliteConnection;
use tokio::runtime::Handle;

use crate::config::{EffectiveDefinition, References, load_texts};
use crate::db::Sqlite;
use crate::error::{Error, Kind, Result};
use crate::kafka::explain;
use crate::plan::{Plan, SqliteTable, compile};

const DEFINITION: &str = include_str!("../../../config/demo/order-enrichment.yaml");
const TABLES: &str = include_str!("../../../config/demo/tables.sql");

/// Where the definition stands in the repository, for messages.
const DEFINITION_FILE: &str = "config/demo/order-enrichment.yaml";

/// The topic of the definition, and how many partitions it has: more than one, so that keys spread.
pub(super) const TOPIC: &str = "mqTest02";
const PARTITIONS: i32 = 3;

/// Broker, file and definition.
pub(super) struct Stage {
    broker: MockCluster<'static, DefaultProducerContext>,
    folder: tempfile::TempDir,
}

impl Stage {
    /// Starts the broker and makes the tables.
    ///
    /// # Errors
    /// No room for temporary files, no socket for the broker.
    pub(super) fn set(runtime: &Handle) -> Result<Self> {
        let failed = |error: rdkafka::error::KafkaError| explain("starting the demo's broker", &error);
        let broker = MockCluster::new(1).map_err(failed)?;
        broker.create_topic(TOPIC, PARTITIONS, 1).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("lookaside-demo-").tempdir();
        let folder =
            folder.map_err(|error| Error::external(format!("a folder for the demo's tables: {error}")))?;
        let stage = Self { broker, folder };
        runtime.block_on(stage.make_tables())?;
        Ok(stage)
    }

    /// The SQLite file.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("tables.db")
    }

    async fn make_tables(&self) -> Result<()> {
        let path = self.file();
        let failed = |error: &dyn std::fmt::Display| {
            Error::external(format!("making the demo's tables in {}: {error}", path.display()))
        };
        std::fs::File::create(&path).map_err(|error| failed(&error))?;
        let mut connection = self.connect().await?;
        connection.execute(TABLES).await.map_err(|error| failed(&error))?;
        Ok(())
    }

    /// A connection that may write.
    pub(super) async fn connect(&self) -> Result<SqliteConnection> {
        writer(&self.file()).await
    }

    /// The plan of the demo's job, and its definition as it may be shown.
    ///
    /// # Errors
    /// The definition that is built in is invalid (a bug).
    pub(super) fn plan(&self) -> Result<(Plan, String)> {
        let (servers, file) = (self.broker.bootstrap_servers(), self.file().display().to_string());
        let variable = |name: &str| match name {
            "KAFKA" => Some(servers.clone()),
            "DEMO_FILE" => Some(file.clone()),
            _ => None,
        };
        let references = References::new(variable, |_| Err("the demo reads no files".to_owned()));
        let texts = [(DEFINITION_FILE.to_owned(), DEFINITION.to_owned())];
        let plan = load_texts(&texts, &references).and_then(|definition| {
            Ok((compile(&definition)?, EffectiveDefinition::new(&definition).to_yaml()))
        });
        plan.map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Error::new(Kind::Bug, faults.join("; "))
        })
    }
}

/// A connection to the demo's file that may write.
///
/// # Errors
/// The file is gone.
pub(super) async fn writer(file: &std::path::Path) -> Result<SqliteConnection> {
    let table = SqliteTable { path: file.display().to_string(), table: String::new() };
    Sqlite::connect_to_write(&table)
        .await
        .map_err(|failure| Error::external(format!("the demo's tables: {failure}")))
}
