//! Where the real servers are: `make test` starts them and says so in the environment.

/// `host:port` of the Kafka broker.
pub fn kafka() -> String {
    address("LOOKASIDE_TEST_KAFKA")
}

/// `host:port` of the MySQL-protocol server; user `root`, no password.
pub fn mysql() -> String {
    address("LOOKASIDE_TEST_MYSQL")
}

/// Folder of the broker's data.
pub fn kafka_logs() -> String {
    address("LOOKASIDE_TEST_KAFKA_LOGS")
}

/// Folder of Kafka's jars: the broker and its tools.
pub fn kafka_jars() -> String {
    address("LOOKASIDE_TEST_KAFKA_JARS")
}

/// Folder of what a client needs for the broker's other listeners; see `security.rs`.
pub fn security() -> String {
    address("LOOKASIDE_TEST_SECURITY")
}

fn address(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run make test"))
}
