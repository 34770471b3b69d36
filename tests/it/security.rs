//! The broker's listeners with logins and TLS, and what a client needs for them (`tests/stack/security.sh`).

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::stack;

/// The user of every mechanism, also the client id of the token endpoint.
pub const USER: &str = "app";

/// Its password.
pub const PASSWORD: &str = "app-secret";

/// `host:port` of a listener: `SASL_SSL`, `SASL_PLAINTEXT` or `SSL`.
pub fn listener(protocol: &str) -> String {
    let listeners = text("listeners");
    let address = listeners.lines().find_map(|line| line.strip_prefix(&format!("{protocol}://")));
    address.unwrap_or_else(|| panic!("no {protocol} in {listeners}")).to_owned()
}

/// Path of a file: `ca.pem`, `client.pem`, `client.p12`, …
pub fn file(name: &str) -> String {
    PathBuf::from(stack::security()).join(name).display().to_string()
}

/// Its text.
pub fn text(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A running token endpoint that knows [`USER`] and [`PASSWORD`]; its tokens are what the broker accepts.
pub struct TokenEndpoint {
    process: Child,
    /// Where tokens are asked for.
    pub url: String,
}

impl TokenEndpoint {
    /// Starts one over http, or over https with the broker's certificate.
    pub fn start(scheme: &str) -> Self {
        let mut command = Command::new("python3");
        command.args(["tests/stack/token_endpoint.py", USER, PASSWORD]);
        if scheme == "https" {
            command.arg(file("broker.pem"));
        }
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
        let mut port = String::new();
        let stdout = process.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut port).expect("its port");
        Self { process, url: format!("{scheme}://127.0.0.1:{}/token", port.trim()) }
    }
}

impl Drop for TokenEndpoint {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
