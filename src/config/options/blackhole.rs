//! `blackhole`: rows that go nowhere, for measurements (Flink: `BlackHoleTableSinkFactory`).

use super::spec::ConnectorSpec;
use super::spec::Role::Sink;

pub(super) const CONNECTOR: ConnectorSpec = ConnectorSpec {
    name: "blackhole",
    doc: "Rows are counted and forgotten.",
    roles: &[Sink],
    options: &[],
    formats: &[],
    has_properties: false,
};
