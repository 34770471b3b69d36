//! A running replica: does it answer, and is it ready.
//!
//! One request of HTTP/1.1 needs no client library: the answer's status and the reason in its body are all that is read.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Checks;
use super::finding::{Finding, Report, Status};

/// The answer of a probe is a line; more is not from a replica.
const ANSWER_BYTES_MAX: u64 = 16 * 1024;

/// Where a replica serves HTTP: `host:port`, and the host alone for the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address(String);

/// Reads `http://host:port`.
pub(super) fn parse_address(url: &str) -> Result<Address, String> {
    let rest = url.strip_prefix("http://").ok_or("write http://host:port")?;
    let address = rest.strip_suffix('/').unwrap_or(rest);
    let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
    match port.map(str::parse::<u16>) {
        Some(Ok(_)) if !address.contains(['/', '?', '@']) => Ok(Address(address.to_owned())),
        _ => Err("write http://host:port".to_owned()),
    }
}

impl Checks<'_> {
    /// Asks `/readyz`.
    pub(super) fn replica(&self, address: &Address, report: &mut Report) {
        let Address(address) = address;
        let answer = self.runtime.block_on(ask(address, "/readyz", self.timeout));
        let (status, what) = match answer.as_deref().map(status_and_body) {
            Ok(Some((200, _))) => (Status::Ok, format!("{address} is ready")),
            Ok(Some((503, reason))) => (Status::Failed, format!("{address} is not ready: {}", reason.trim())),
            Ok(Some((code, _))) => (
                Status::Failed,
                format!("{address} answers {code} to /readyz: is a replica behind this address?"),
            ),
            Ok(None) => (
                Status::Failed,
                format!("{address} does not answer in HTTP: is a replica behind this address?"),
            ),
            Err(error) => (
                Status::Failed,
                format!(
                    "{address} cannot be asked: {error}; does a replica run there (its log says why not)?"
                ),
            ),
        };
        report.add(Finding::new(status, what));
    }
}

async fn ask(address: &str, path: &str, timeout: Duration) -> io::Result<String> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    match tokio::time::timeout(timeout, exchange).await {
        Ok(answer) => answer,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
    }
}

fn status_and_body(answer: &str) -> Option<(u16, &str)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
    Some((status.parse().ok()?, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_scheme_host_and_port() {
        for good in ["http://orders:8080", "http://orders:8080/", "http://[::1]:80"] {
            assert!(parse_address(good).is_ok(), "{good}");
        }
        for bad in
            ["orders:8080", "https://orders:1", "http://orders", "http://:80", "http://a:1/x", "http://u@a:1"]
        {
            assert!(parse_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_answer_is_a_status_and_a_body() {
        let answer = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 9\r\n\r\nstarting\n";
        assert_eq!(status_and_body(answer), Some((503, "starting\n")));
        assert_eq!(status_and_body("SSH-2.0-OpenSSH\r\n"), None);
        assert_eq!(status_and_body(""), None);
    }
}
