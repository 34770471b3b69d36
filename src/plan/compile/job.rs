//! `name` and `options` of a definition.

use std::time::Duration;

use crate::config::Definition;
use crate::config::options::check_job;
use crate::expr::Expression;
use crate::keygroup::KeyHash;

use super::super::{MiniBatch, Options, SourceKind};
use super::context::Context;
use crate::expr::Scope;

/// Longest name: it is part of client ids and, with suffixes, of topic names (limit 249).
const NAME_LENGTH_MAX: usize = 200;

/// Options of the job, and what ChangelogNormalize takes from them.
pub(super) struct Job {
    pub options: Options,
    pub ttl: Option<Duration>,
    pub mini_batch: Option<MiniBatch>,
}

/// Options that steer the state of an upsert source do nothing for an append-only one: said once.
pub(super) fn note_unused(context: &mut Context, definition: &Definition, kind: SourceKind) {
    let steers_state = |name: &str| name == "state.ttl" || name.starts_with("mini-batch.");
    let written = definition.options.iter().map(|entry| entry.key.written.as_str());
    let unused: Vec<&str> = written.filter(|name| steers_state(name)).collect();
    if kind == SourceKind::Kafka && !unused.is_empty() {
        context
            .notes
            .push(format!("options: {} unused: an append-only stream keeps no state", unused.join(", ")));
    }
}

/// The application id.
pub(super) fn name(context: &mut Context, definition: &Definition) -> Option<String> {
    let Some(name) = &definition.name else {
        context.fault(
            &crate::config::Span::file(&definition.pipeline.span.file),
            "there is no 'name'",
            "it names the consumer group, the clients and the state of this job",
        );
        return None;
    };
    if name.is_broken() || name.is_missing() {
        return None;
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.value().is_empty() || NAME_LENGTH_MAX < name.value().len() || !name.value().chars().all(legal) {
        let what = format!("'{}' cannot be the name of a job", name.written);
        let help = format!("a name has 1 to {NAME_LENGTH_MAX} letters, digits, '.', '_' or '-'");
        context.fault(&name.span, what, help);
        return None;
    }
    Some(name.value().to_owned())
}

/// Reads the options, and sets the session's zone for every expression.
pub(super) fn compile(context: &mut Context, definition: &Definition) -> Job {
    let options = check_job(&definition.options, &definition.pipeline.span, &mut context.faults);
    let parallelism = options.integer("parallelism").and_then(|number| u16::try_from(number).ok());
    let max_parallelism = options.integer("max-parallelism").and_then(|number| u16::try_from(number).ok());
    if let (Some(shards), Some(groups)) = (parallelism, max_parallelism)
        && groups < shards
    {
        let what = format!("'parallelism' is {shards}, more than 'max-parallelism', which is {groups}");
        context.fault(&options.span("parallelism"), what, "0 < parallelism <= max-parallelism <= 32768");
    }
    let time_zone = options.text("time-zone").unwrap_or("UTC").to_owned();
    context.settings.time_zone.clone_from(&time_zone);
    // A zone is known to the expressions alone: they say whether there is one of that name.
    if options.is_written("time-zone")
        && Expression::compile(
            "CAST('2020-01-01 00:00:00' AS TIMESTAMP_LTZ(3))",
            &Scope::default(),
            &context.settings,
        )
        .is_err()
    {
        let what = format!("'{}' is not a time zone", options.written("time-zone"));
        let help = "write an IANA name such as Europe/Berlin, or an offset such as GMT+08:00";
        context.fault(&options.span("time-zone"), what, help);
        context.settings.time_zone = "UTC".to_owned();
    }
    let key_hash = match options.choice("key-hash") {
        "java" => KeyHash::Java,
        _ => KeyHash::FlinkSql,
    };
    let ttl = options.duration("state.ttl").filter(|ttl| !ttl.is_zero());
    let commit_interval = options.duration("commit.interval").unwrap_or(Duration::from_secs(1));
    let mini_batch = mini_batch(context, &options);
    let options = Options { parallelism, max_parallelism, key_hash, time_zone, commit_interval };
    Job { options, ttl, mini_batch }
}

fn mini_batch(context: &mut Context, options: &crate::config::options::TableOptions) -> Option<MiniBatch> {
    if !options.boolean("mini-batch.enabled") {
        for name in ["mini-batch.allow-latency", "mini-batch.size"] {
            if options.is_written(name) {
                let what = format!("'{name}' is given, but mini-batch.enabled is not true");
                context.fault(&options.span(name), what, "set mini-batch.enabled: true, or leave it out");
            }
        }
        return None;
    }
    let latency = options.duration("mini-batch.allow-latency").unwrap_or_default();
    let size = options.integer("mini-batch.size").and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
    if latency.is_zero() || size == 0 {
        let what = "mini-batch.enabled needs mini-batch.allow-latency and mini-batch.size, both above 0";
        context.fault(&options.span("mini-batch.enabled"), what, "give both, or leave all three out");
    }
    Some(MiniBatch { latency, size })
}
