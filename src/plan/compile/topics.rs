//! Topic names, lists and patterns.

use crate::config::TableDefinition;
use crate::config::options::TableOptions;

use super::super::Topics;
use super::context::Context;

/// Kafka's limit for the name of a topic.
const TOPIC_LENGTH_MAX: usize = 249;

/// `topic` or `topic-pattern`, exactly one of them.
pub(super) fn of_source(
    context: &mut Context,
    table: &TableDefinition,
    options: &TableOptions,
) -> Option<Topics> {
    match (options.is_written("topic"), options.is_written("topic-pattern")) {
        (true, false) => {}
        (false, true) => return pattern(context, options),
        (true, true) => {
            context.fault(
                &options.span("topic-pattern"),
                "'topic' and 'topic-pattern' are both given",
                "give one of them",
            );
            return None;
        }
        (false, false) => {
            // A topic that was given and is faulty is reported already.
            if !table.options.iter().any(|entry| entry.key.written.starts_with("topic")) {
                let what = format!("table '{}' has no 'topic'", table.name.written);
                context.fault(
                    &table.name.span,
                    what,
                    "give 'topic', or 'topic-pattern' with a regular expression",
                );
            }
            return None;
        }
    }
    let written = options.text("topic").unwrap_or_default();
    let topics: Vec<String> =
        written.split(';').map(str::trim).filter(|topic| !topic.is_empty()).map(str::to_owned).collect();
    if topics.is_empty() || !topics.iter().all(|topic| is_legal(topic)) {
        return illegal(context, options);
    }
    Some(Topics::List(topics))
}

/// `topic` of a sink: one name.
pub(super) fn of_sink(
    context: &mut Context,
    table: &TableDefinition,
    options: &TableOptions,
) -> Option<String> {
    let Some(topic) = options.text("topic") else {
        if !table.options.iter().any(|entry| entry.key.written == "topic") {
            let what = format!("table '{}' has no 'topic'", table.name.written);
            context.fault(&table.name.span, what, "topic: the name of the Kafka topic");
        }
        return None;
    };
    let topic = topic.trim().trim_end_matches(';');
    if topic.contains(';') {
        context.fault(&options.span("topic"), "a sink writes to one topic", "name one");
        return None;
    }
    if !is_legal(topic) {
        return illegal(context, options);
    }
    Some(topic.to_owned())
}

fn pattern(context: &mut Context, options: &TableOptions) -> Option<Topics> {
    let pattern = options.text("topic-pattern")?;
    if let Err(error) = regex::Regex::new(pattern) {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let what = format!("'{}' is not a regular expression", options.written("topic-pattern"));
        let help = if options.shown("topic-pattern", pattern) == pattern { reason } else { "" };
        context.fault(&options.span("topic-pattern"), what, help);
        return None;
    }
    Some(Topics::Pattern(pattern.to_owned()))
}

fn illegal<T>(context: &mut Context, options: &TableOptions) -> Option<T> {
    let what = format!("'{}' cannot be a topic", options.written("topic"));
    let help = format!("a topic has 1 to {TOPIC_LENGTH_MAX} letters, digits, '.', '_' or '-'");
    context.fault(&options.span("topic"), what, help);
    None
}

fn is_legal(topic: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=TOPIC_LENGTH_MAX).contains(&topic.len()) && topic.chars().all(legal) && topic != "." && topic != ".."
}
