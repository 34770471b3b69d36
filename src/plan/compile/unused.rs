//! Tables that the pipeline does not use: they are checked all the same, as whatever they could be.

use crate::config::options::{ConnectorUse, check_table, connector};
use crate::config::{Definition, Fault, Faults};

use super::context::Context;
use super::schema::Schema;

pub(super) fn check(context: &mut Context, definition: &Definition) {
    let pipeline = &definition.pipeline;
    let used = |name: &str| {
        pipeline.from.table.value() == name
            || pipeline.into.value() == name
            || pipeline.lookups.iter().any(|step| step.table.value() == name)
    };
    for table in definition.tables.iter().filter(|table| !used(&table.name.written)) {
        Schema::read(context, table);
        let Some(name) = &table.connector else { continue };
        let Some(spec) = connector(name.value()) else {
            context.faults.add(Fault::new(&name.span, format!("unknown connector '{}'", name.written)));
            continue;
        };
        // Its options must be right for one of its parts; the part with the fewest faults was meant.
        let attempts = spec.roles.iter().map(|role| {
            let mut faults = Faults::default();
            check_table(ConnectorUse { table, role: *role }, &mut faults);
            faults
        });
        if let Some(best) = attempts.min_by_key(Faults::len) {
            context.faults.extend(best.into_sorted());
        }
    }
}
