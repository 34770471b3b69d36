//! What the demo says beside the changelog, on standard error: the changelog
//! alone goes to standard output. Colour is for terminals.

use std::io::Write as _;

use clap::builder::styling::{AnsiColor, Style};

use super::story::{Change, Order};

/// What is not the point.
const FAINT: Style = Style::new().dimmed();
/// What is worth a look.
const LOUD: Style = AnsiColor::Cyan.on_default().bold();

/// Says things.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voice;

impl Voice {
    /// Something to know.
    pub(super) fn say(self, text: &str) {
        write(text);
    }

    /// An address or a name, where it must be seen.
    pub(super) fn loud(self, text: &str) -> String {
        format!("{LOUD}{text}{LOUD:#}")
    }

    /// An order is on its way.
    pub(super) fn order(self, order: &Order) {
        let amount = order.amount.map(|amount| format!(", {amount}")).unwrap_or_default();
        let remark = if order.remark.is_empty() { String::new() } else { format!(" ({})", order.remark) };
        write(&format!("{FAINT}  order of user {} {}{amount}{remark}{FAINT:#}", order.user, order.what));
    }

    /// A dimension row changes.
    pub(super) fn change(self, change: &Change) {
        write(&format!("{}\n  {}", self.loud(&change.sql), change.remark));
    }
}

/// A reader who has gone away misses what is said, and nothing else.
fn write(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}
