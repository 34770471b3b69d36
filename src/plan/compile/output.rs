//! The output row: what was selected, by name, in the sink's order and types.

use crate::config::{Fault, Span};
use crate::expr::Expression;
use crate::model::{DataType, Type};

use super::context::Context;
use super::schema::SchemaKind;
use super::select::Selected;
use super::sink::SinkTable;

/// One column of the output over the full joined row.
#[derive(Clone, Debug)]
pub(super) struct OutputDraft {
    pub name: String,
    pub ty: DataType,
    /// Widened to `ty`.
    pub value: Expression,
    /// For people.
    pub sql: String,
    /// The column of the joined row that it is, before widening.
    pub column: Option<usize>,
    /// Where it is selected.
    pub span: Span,
    /// Metadata key of the sink, when it is no physical column there.
    pub metadata: Option<String>,
}

/// Brings the selected values into the sink's order; `None` if they do not fit.
pub(super) fn compile(
    context: &mut Context,
    selected: Vec<Selected>,
    sink: &SinkTable,
) -> Option<Vec<OutputDraft>> {
    let before = context.faults.len();
    let output = match sink.schema.columns.is_empty() {
        true => selected.into_iter().filter_map(|item| as_selected(context, item)).collect(),
        false => as_declared(context, &selected, sink),
    };
    (context.faults.len() == before).then_some(output)
}

/// A sink without columns takes the select's.
fn as_selected(context: &mut Context, item: Selected) -> Option<OutputDraft> {
    if item.value.ty().kind == Type::Null {
        let what = format!("'{}' is NULL without a type", item.name);
        context.fault(&item.span, what, "write CAST(NULL AS type)");
        return None;
    }
    Some(OutputDraft {
        name: item.name,
        ty: item.value.ty().clone(),
        column: item.value.as_column(),
        value: item.value,
        sql: item.sql,
        span: item.span,
        metadata: None,
    })
}

fn as_declared(context: &mut Context, selected: &[Selected], sink: &SinkTable) -> Vec<OutputDraft> {
    let mut output = Vec::new();
    for column in &sink.schema.columns {
        let metadata = match &column.kind {
            SchemaKind::Physical(_) => None,
            SchemaKind::Metadata { key, is_virtual: false } => Some(key.clone()),
            SchemaKind::Metadata { is_virtual: true, .. } | SchemaKind::Computed { .. } => continue,
        };
        let Some(item) = selected.iter().find(|item| item.name == column.name) else {
            let what = format!("sink column '{}' is not selected", column.name);
            let fault = Fault::new(&column.item.span, what)
                .allowed(&column.name, selected.iter().map(|item| &item.name));
            context.faults.add(
                Fault { allowed: Vec::new(), ..fault }.help("every column of the sink is given by 'select'"),
            );
            continue;
        };
        match item.value.clone().widened_to(&column.ty) {
            Some(value) => output.push(OutputDraft {
                name: column.name.clone(),
                ty: column.ty.clone(),
                value,
                sql: item.sql.clone(),
                column: item.value.as_column(),
                span: item.span.clone(),
                metadata,
            }),
            None => {
                let what = format!(
                    "'{}' is {}, and the sink's column is {}: that would narrow it",
                    item.name,
                    item.value.ty().kind,
                    column.ty.kind
                );
                let help = format!("write CAST(… AS {}) AS {}", column.ty.kind, item.name);
                context.fault(&item.span, what, help);
            }
        }
    }
    let declared = |name: &str| sink.schema.columns.iter().any(|column| column.name == name);
    for item in selected.iter().filter(|item| !declared(&item.name)) {
        let names = sink.schema.columns.iter().map(|column| column.name.as_str());
        let what = format!("the sink has no column '{}'", item.name);
        context.faults.add(Fault::new(&item.span, what).allowed(&item.name, names));
    }
    output
}
