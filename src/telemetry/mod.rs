//! What an operator can see of a running replica.
//!
//! The data path owns plain counters and knows nothing of Prometheus. Whoever
//! watches it turns those counters into [`Sample`]s of the metrics in
//! [`names`] (the only place where a metric is named), and a [`Page`] of
//! samples becomes the text that Prometheus scrapes. A scrape therefore costs
//! the data path nothing.

mod exposition;
mod histogram;
mod log;
mod log_count;
pub mod names;
mod problems;
mod pulse;
mod reference;

pub use exposition::{Page, Sample};
pub use histogram::Histogram;
pub use log::{LogFormat, install_log};
pub use log_count::log_lines;
pub use problems::{Problem, Problems};
pub use pulse::{Elapsed, Pulse};
pub use reference::reference;
