//! `sqlite`: a table of a SQLite file.

use super::lookup::LOOKUP;
use super::spec::Role::{self, Dimension};
use super::spec::{ConnectorSpec, Kind, OptionSpec, joined};

const ROLES: &[Role] = &[Dimension];

pub(super) const CONNECTOR: ConnectorSpec = ConnectorSpec {
    name: "sqlite",
    doc: "A table or view of a SQLite file, to look up in. The file is opened for reading only.",
    roles: ROLES,
    options: &OPTIONS,
    formats: &[],
    has_properties: false,
};

const OPTIONS: [OptionSpec; FILE.len() + LOOKUP.len()] = joined(&[&FILE, &LOOKUP]);

const FILE: [OptionSpec; 2] = [
    OptionSpec::new(
        "url",
        Kind::Text,
        ROLES,
        "sqlite:/path/to/file.db; a relative path counts from the working directory of the process.",
    )
    .required(),
    OptionSpec::new("table-name", Kind::Text, ROLES, "The table or view.").required(),
];
