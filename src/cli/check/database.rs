//! MySQL: connection, table, columns, types, an index on the lookup key, rights.

use tokio::time::timeout;

use crate::db::catalog::ColumnInfo;
use crate::db::compatibility::{readable, writable};
use crate::db::{Access, DimensionSpec, LiveTable, MysqlDimension};
use crate::error::{Error, Result, TablePart};
use crate::model::{DataType, Type};
use crate::plan::{LookupPlan, MysqlSink, MysqlTable};
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
        if !self.table((&spec.table, &spec.source), &columns, readable, report) {
            return;
        }
        let access =
            Access::new(self.databases.clone(), self.clock.clone(), &self.loaded.plan.options.time_zone);
        match self.answer(&spec.table, MysqlDimension::open(&spec, access)) {
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
        if !self.table((&spec.table, &sink.table), &spec.columns, writable, report) {
            return;
        }
        match self.answer(&spec.table, MysqlTableSink::check(&spec, &self.databases, &self.clock)) {
            Ok(notes) => {
                report.add(Finding::new(Status::Ok, "the table takes the rows, and the user may write them"));
                self.notes(&spec.table, &notes, report);
            }
            Err(error) => report.add(self.failed(&error)),
        }
    }

    /// Connection, table and columns; whether all is well.
    fn table(
        &self,
        (name, source): (&str, &MysqlTable),
        columns: &[(String, DataType)],
        fits: Fits,
        report: &mut Report,
    ) -> bool {
        let connections = self.databases.get(source);
        let live = match self.answer(name, LiveTable::open(&connections, source, name)) {
            Ok(live) => live,
            Err(error) => {
                report.add(self.failed(&error));
                return false;
            }
        };
        let (address, server) = (connections.address(), &live.info.server);
        report.add(Finding::new(Status::Ok, format!("MySQL at {address} answers: version {server}")));
        let unfit: Vec<Error> =
            columns.iter().filter_map(|(column, ty)| live.typed_column(column, ty, fits).err()).collect();
        let names: Vec<&str> = columns.iter().map(|(column, _)| column.as_str()).collect();
        if unfit.is_empty() {
            let table = format!("`{}`.`{}`", live.info.schema, live.info.name);
            let what = format!("table {table} has {}, of types that fit", names.join(", "));
            report.add(Finding::new(Status::Ok, what));
        }
        unfit.iter().for_each(|error| report.add(self.failed(error)));
        live.connection.give_back();
        unfit.is_empty()
    }

    /// What is asked, within `--timeout`.
    fn answer<T>(&self, table: &str, asked: impl Future<Output = Result<T>>) -> Result<T> {
        let limited = self.runtime.block_on(async { timeout(self.timeout, asked).await });
        limited.unwrap_or_else(|_| {
            let what = format!(
                "table {table}: MySQL gives no answer within {:?}; check host and port in `url`",
                self.timeout
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
