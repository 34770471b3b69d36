//! The last warnings and errors of the process, for whoever asks what is wrong.
//!
//! They are taken from the log as it is written, so nothing has to be
//! reported twice. The same trouble again is counted, not listed again. An
//! event's field `help` says what to do about it.

use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use crate::clock::{Clock, Millis};

/// Problems that are kept: more than anyone reads, few enough to show all of them.
const KEPT_MAX: usize = 20;

/// Bytes of one text: a message may quote a value from the stream, which can be of any size.
const TEXT_MAX: usize = 2_000;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Whether it is an error; else a warning.
    pub is_error: bool,
    /// What happened, as of the last time.
    pub what: String,
    /// What to do about it; empty when the text says it.
    pub help: String,
    /// When it came first.
    pub first: Millis,
    /// When it came last.
    pub last: Millis,
    /// How often it came.
    pub count: u64,
    /// What makes it the same problem: the place in the program and what it is about.
    #[serde(skip)]
    identity: String,
}

/// The problems of the process. Clones share them.
#[derive(Clone, Debug)]
pub struct Problems {
    kept: Arc<Mutex<VecDeque<Problem>>>,
    clock: Clock,
}

impl Problems {
    /// None yet.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { kept: Arc::default(), clock }
    }

    /// All that are kept, the newest first.
    #[must_use]
    pub fn list(&self) -> Vec<Problem> {
        self.lock().iter().cloned().collect()
    }

    /// The error that ends the job.
    pub fn end(&self, message: &str) {
        self.add("the end", true, Words { what: message.to_owned(), ..Words::default() });
    }

    fn add(&self, place: &str, is_error: bool, words: Words) {
        let now = self.clock.now();
        let about = if words.about.is_empty() { &words.what } else { &words.about };
        let identity = format!("{place} {about}");
        let mut kept = self.lock();
        let known = kept.iter().position(|problem| problem.identity == identity);
        let known = known.and_then(|at| kept.remove(at));
        let (first, count) = known.map_or((now, 0), |problem| (problem.first, problem.count));
        let (what, help) = (shortened(words.what + &words.details), shortened(words.help));
        kept.push_front(Problem { is_error, what, help, first, last: now, count: count + 1, identity });
        kept.truncate(KEPT_MAX);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Problem>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(mut text: String) -> String {
    if TEXT_MAX < text.len() {
        let end = (0..=TEXT_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

impl<S: Subscriber> Layer<S> for Problems {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        if Level::WARN < *metadata.level() {
            return;
        }
        let mut words = Words::default();
        event.record(&mut words);
        self.add(metadata.name(), *metadata.level() == Level::ERROR, words);
    }
}

/// Fields that name the part concerned: the same trouble of another part is another problem.
const ABOUT: [&str; 3] = ["table", "client", "partition"];

/// The fields of an event.
#[derive(Default)]
struct Words {
    what: String,
    help: String,
    about: String,
    details: String,
}

impl Words {
    fn take(&mut self, name: &str, value: &str) {
        match name {
            "message" => value.clone_into(&mut self.what),
            "help" => value.clone_into(&mut self.help),
            _ => {
                let begin = if self.details.is_empty() { " (" } else { "" };
                let rest = self.details.strip_suffix(')').map(|rest| format!("{rest}, ")).unwrap_or_default();
                self.details = format!("{rest}{begin}{name}: {value})");
            }
        }
        if ABOUT.contains(&name) {
            let _ = write!(self.about, "{name} {value} ");
        }
    }
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take(field.name(), &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tracing_subscriber::prelude::*;

    use super::*;

    fn watched(act: impl FnOnce(&Clock)) -> Vec<Problem> {
        let clock = Clock::manual(1_000);
        let problems = Problems::new(clock.clone());
        let subscriber = tracing_subscriber::registry().with(problems.clone());
        tracing::subscriber::with_default(subscriber, || act(&clock));
        problems.list()
    }

    #[test]
    fn the_same_trouble_is_counted_and_the_newest_comes_first() {
        let problems = watched(|clock| {
            for (attempt, table) in [(1, "users"), (1, "regions"), (2, "users")] {
                tracing::warn!(table, attempt, help = "wait", "lookup failed");
                clock.advance(Duration::from_secs(1));
            }
            tracing::info!("all is well");
        });
        let texts: Vec<_> = problems.iter().map(|problem| (problem.what.as_str(), problem.count)).collect();
        assert_eq!(
            texts,
            [
                ("lookup failed (table: users, attempt: 2)", 2),
                ("lookup failed (table: regions, attempt: 1)", 1)
            ]
        );
        let newest = &problems[0];
        assert_eq!((newest.first, newest.last, newest.help.as_str()), (1_000, 3_000, "wait"));
        assert!(!newest.is_error);
    }

    #[test]
    fn they_are_few_and_short() {
        let problems = watched(|_| {
            for number in 0..100 {
                tracing::error!(table = number, "{}", "é".repeat(2_000));
            }
        });
        assert_eq!(problems.len(), KEPT_MAX);
        assert!(problems.iter().all(|problem| problem.is_error && problem.what.len() <= TEXT_MAX + 3));
    }
}
