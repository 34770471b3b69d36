//! What was written.
//!
//! A definition is YAML. It is read into a tree that remembers where every
//! word stands ([`Node`], [`Span`]) and keeps scalars as they were written:
//! nothing is turned into a number or a boolean before someone who knows the
//! option asks for one. References (`${env:…}`, `${file:…}`) are resolved on
//! parsed scalars and never shown. On top of the tree stand the shape of a
//! definition ([`Definition`]), the option tables of every connector
//! ([`options`]) and the settings of the process ([`settings`]). What it all
//! means is the business of `plan`.

mod definition;
mod duration;
mod fault;
mod load;
mod merge;
mod nearest;
pub mod ddl;
pub mod options;
mod reference;
mod schema;
pub mod settings;
mod shown;
mod tree;
mod yaml;

pub use definition::{Definition, LookupDefinition, PipelineDefinition, StreamDefinition, TableDefinition};
pub use duration::{format_duration, parse_duration};
pub use fault::{Fault, Faults, Span};
pub use load::{DefinitionSource, load, load_inline, load_texts};
pub use nearest::nearest;
pub use reference::References;
pub use schema::json_schema;
pub use shown::{effective, shown};
pub use tree::{Entry, Node, Style, Text, Value};
pub use yaml::parse_yaml;
