//! What every step of compiling adds to: faults, notes, and the session for expressions.

use crate::config::options::{ConnectorUse, Role, TableOptions, check_table};
use crate::config::{Definition, Fault, Faults, Span, TableDefinition, Text};
use crate::expr::{CompileError, Expression, Scope, Settings};

pub(super) struct Context {
    pub faults: Faults,
    pub notes: Vec<String>,
    pub settings: Settings,
    /// Some column has a type that was not understood and stands in as NULL: what follows from that
    /// alone is no fault of its own.
    pub has_unknown_types: bool,
}

impl Context {
    pub fn new(definition: &Definition) -> Self {
        let mut faults = Faults::default();
        faults.extend(definition.faults.iter().cloned());
        Self {
            faults,
            notes: Vec::new(),
            settings: Settings { time_zone: "UTC".to_owned() },
            has_unknown_types: false,
        }
    }

    /// Adds a fault with a sentence and what to do.
    pub fn fault(&mut self, span: &Span, what: impl Into<String>, help: impl Into<String>) {
        self.faults.add(Fault::new(span, what).help(help));
    }

    /// Adds the fault that a piece of SQL has; it begins at byte `base` of `text`.
    pub fn sql_fault(&mut self, text: &Text, base: usize, error: CompileError) {
        if self.has_unknown_types && error.message.starts_with("NULL alone") {
            return;
        }
        let span = text.place(Some(base + error.at.unwrap_or(0)));
        self.faults.add(Fault::new(&span, error.message).help(error.help));
    }

    /// Compiles SQL that begins at byte `base` of `text`.
    pub fn expression(&mut self, text: &Text, base: usize, sql: &str, scope: &Scope) -> Option<Expression> {
        match Expression::compile(sql, scope, &self.settings) {
            Ok(expression) => Some(expression),
            Err(error) => {
                self.sql_fault(text, base, error);
                None
            }
        }
    }

    /// The table of this name, for its part in the pipeline.
    pub fn table<'a>(
        &mut self,
        definition: &'a Definition,
        name: &Text,
        role: Role,
    ) -> Option<&'a TableDefinition> {
        let found = definition.tables.iter().find(|table| table.name.written == name.value());
        if found.is_none() {
            let names = definition.tables.iter().map(|table| table.name.written.as_str());
            let fault = Fault::new(
                &name.span,
                format!("there is no table '{}' for the {}", name.written, role.name()),
            );
            self.faults.add(fault.allowed(&name.written, names));
        }
        found
    }

    /// Checks the options of a table; what does nothing becomes one note.
    pub fn options(&mut self, table: &TableDefinition, role: Role) -> Option<TableOptions> {
        let options = check_table(ConnectorUse { table, role }, &mut self.faults)?;
        let mut reasons: Vec<&str> = options.notes.iter().map(|(_, reason)| *reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            let names = options.notes.iter().filter(|(_, own)| *own == reason).map(|(name, _)| name.as_str());
            let names: Vec<&str> = names.collect();
            self.note(&table.name.written, &names.join(", "), reason);
        }
        Some(options)
    }

    /// Says once that something written does nothing.
    pub fn note(&mut self, table: &str, what: &str, reason: &str) {
        let note = format!("table '{table}': {what} accepted and unused: {reason}");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
