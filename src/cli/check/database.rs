//! Databases: connection, table, columns, types, an index on the lookup key, rights.

use tokio::time::timeout;

use crate::db::mysql::writable;
use crate::db::{Access, ColumnInfo, Dialect, Dimension, DimensionSpec, Known, LiveTable, Mysql, Sqlite};
use crate::error::{Error, Result, TablePart};
use crate::model::{DataType, Type};
use crate::plan::{DimensionConnector, LookupPlan, MysqlSink};
use crate::sink::{MysqlSinkSpec, MysqlTableSink};

use super::Checks;
use super::finding::{Finding, Report, Status};

/// Whether a live column takes a declared type; else what it could be declared as.
type Fits = fn(&ColumnInfo, &Type) -> std::result::Result<(), &'static str>;

impl Checks<'_> {
    pub(super) fn dimension(&self, lookup: &LookupPlan, report: &mut Report) {
        let spec = DimensionSpec::from(lookup);
        let columns: Vec<(String, DataType)> = spec
            .key
            .iter()
            .chain(spec.columns.iter().filter(|column| !spec.key.contains(column)))
            .map(|column| (column.name.clone(), column.ty.clone()))
            .collect();
        match &spec.source {
            DimensionConnector::Mysql(source) => {
                let there = (&self.databases.mysql, source);
                if self.table(&spec.table, there, (&columns, Mysql::readable), report) {
                    self.lookups::<Mysql>(&spec, report);
                }
            }
            DimensionConnector::Sqlite(source) => {
                let there = (&self.databases.sqlite, source);
                if self.table(&spec.table, there, (&columns, Sqlite::readable), report) {
                    self.lookups::<Sqlite>(&spec, report);
                }
            }
        }
    }

    /// What a lookup needs beyond the columns.
    fn lookups<D: Dialect>(&self, spec: &DimensionSpec, report: &mut Report) {
        let access =
            Access::new(self.databases.clone(), self.clock.clone(), &self.loaded.plan.options.time_zone);
        match self.answer::<D, _>(&spec.table, Dimension::open(spec, access)) {
            Ok(dimension) => {
                let key: Vec<&str> = spec.key.iter().map(|part| part.name.as_str()).collect();
                if dimension.has_index() {
                    let what = format!("an index begins with the lookup key ({})", key.join(", "));
                    report.add(Finding::new(Status::Ok, what));
                }
                self.notes(&spec.table, dimension.notes(), report);
            }
            Err(error) => report.add(self.failed(&error)),
        }
    }

    pub(super) fn mysql_sink(&self, sink: &MysqlSink, report: &mut Report) {
        let spec = MysqlSinkSpec::new(&self.loaded.plan, sink);
        let there = (&self.databases.mysql, &sink.table);
        if !self.table(&spec.table, there, (&spec.columns, writable), report) {
            return;
        }
        let asked = MysqlTableSink::check(&spec, &self.databases, &self.clock);
        match self.answer::<Mysql, _>(&spec.table, asked) {
            Ok(notes) => {
                report.add(Finding::new(Status::Ok, "the table takes the rows, and the user may write them"));
                self.notes(&spec.table, &notes, report);
            }
            Err(error) => report.add(self.failed(&error)),
        }
    }

    /// Connection, table and columns; whether all is well.
    fn table<D: Dialect>(
        &self,
        name: &str,
        (databases, source): (&Known<D>, &D::Source),
        (columns, fits): (&[(String, DataType)], Fits),
        report: &mut Report,
    ) -> bool {
        let connections = databases.get(source);
        let live = match self.answer::<D, _>(name, LiveTable::open(&connections, source, name)) {
            Ok(live) => live,
            Err(error) => {
                report.add(self.failed(&error));
                return false;
            }
        };
        let (place, server) = (connections.database().place(), &live.info.server);
        report.add(Finding::new(Status::Ok, format!("{place} answers: version {server}")));
        let unfit: Vec<Error> =
            columns.iter().filter_map(|(column, ty)| live.typed_column(column, ty, fits).err()).collect();
        let names: Vec<&str> = columns.iter().map(|(column, _)| column.as_str()).collect();
        if unfit.is_empty() {
            let what =
                format!("table {} has {}, of types that fit", live.info.quoted_name(), names.join(", "));
            report.add(Finding::new(Status::Ok, what));
        }
        unfit.iter().for_each(|error| report.add(self.failed(error)));
        live.connection.give_back();
        unfit.is_empty()
    }

    /// What is asked, within `--timeout`.
    fn answer<D: Dialect, T>(&self, table: &str, asked: impl Future<Output = Result<T>>) -> Result<T> {
        let limited = self.runtime.block_on(async { timeout(self.timeout, asked).await });
        limited.unwrap_or_else(|_| {
            let what = format!(
                "table {table}: {} gives no answer within {:?}; check {} in `url`",
                D::NAME,
                self.timeout,
                D::ADDRESS
            );
            Err(Error::transient(what).about(TablePart::option("url")).of_table(table))
        })
    }

    /// What is said at start is worth a look.
    fn notes(&self, table: &str, notes: &[String], report: &mut Report) {
        for note in notes {
            let note = note.strip_prefix(&format!("table {table}: ")).unwrap_or(note);
            report.add(Finding::new(Status::Warning, note).at(self.place(table, "table-name")));
        }
    }
}
