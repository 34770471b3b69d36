//! Whether keys can be hashed as the definition asks: each hash knows its own types (A.4, A.5).

use crate::config::Definition;
use crate::keygroup::KeyHasher;
use crate::model::DataType;

use super::super::Plan;
use super::context::Context;

pub(super) fn check(context: &mut Context, definition: &Definition, plan: &Plan) {
    let hash = plan.options.key_hash;
    let pipeline = &definition.pipeline;
    if plan.normalize.is_some() {
        let columns = plan.source.key_columns.iter().filter_map(|i| plan.source.physical.get(*i));
        let types: Vec<DataType> = columns.map(|column| column.ty.clone()).collect();
        if let Err(error) = KeyHasher::new(&types, hash) {
            context.fault(&pipeline.from.table.span, format!("the primary key: {error}"), "");
        }
    }
    for (lookup, step) in plan.lookups.iter().zip(&pipeline.lookups).filter(|(lookup, _)| lookup.hash) {
        let parts = lookup.hash_order.iter().filter_map(|i| lookup.key.get(*i));
        let types: Vec<DataType> = parts.map(|part| part.ty.clone()).collect();
        if let (false, Err(error)) = (types.is_empty(), KeyHasher::new(&types, hash)) {
            let help = "leave lookup.enable_hash out for this table";
            context.fault(
                &step.table.span,
                format!("lookup.enable_hash of '{}': {error}", lookup.table),
                help,
            );
        }
    }
}
