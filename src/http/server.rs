//! The axum server: routes, and a listener that ends with the program.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;

use crate::error::{Error, Result, io_reason};

use super::Observable;

type Replica = Arc<dyn Observable>;

/// A server that has its port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes the port.
    ///
    /// # Errors
    /// [`crate::error::Kind::External`] when the address is taken, or is none of this machine's.
    pub async fn bind(address: &str) -> Result<Self> {
        let refused = |error: std::io::Error| {
            let remedy = "set http.address (LOOKASIDE__HTTP__ADDRESS) to a free address";
            Error::external(format!("HTTP address {address} cannot be used: {}; {remedy}", io_reason(&error)))
        };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address })
    }

    /// The address with its real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Answers until `shutdown` is done.
///
/// # Errors
/// [`crate::error::Kind::Bug`] if the listener breaks.
pub async fn serve(
    server: Server,
    replica: Arc<dyn Observable>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    axum::serve(server.listener, router(replica))
        .with_graceful_shutdown(shutdown)
        .await
        .map_err(|error| Error::bug(format!("serving HTTP: {error}")))
}

fn router(replica: Replica) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/api/v1/status", get(status))
        .with_state(replica)
}

async fn metrics(State(replica): State<Replica>) -> Response {
    match replica.metrics().into_text() {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn livez(State(replica): State<Replica>) -> Response {
    probe(replica.liveness())
}

async fn readyz(State(replica): State<Replica>) -> Response {
    probe(replica.readiness())
}

fn probe(state: Result<(), String>) -> Response {
    match state {
        Ok(()) => "ok\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn status(State(replica): State<Replica>) -> Response {
    Json(replica.status()).into_response()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::telemetry::{Page, Sample, names};

    struct Restoring;

    impl Observable for Restoring {
        fn liveness(&self) -> Result<(), String> {
            Ok(())
        }
        fn readiness(&self) -> Result<(), String> {
            Err("restoring orders[0]: 10 of 20 records".to_owned())
        }
        fn metrics(&self) -> Page {
            Page::new(vec![Sample::count(&names::READY, [], 0)])
        }
        fn status(&self) -> serde_json::Value {
            serde_json::json!({"state": "restoring"})
        }
    }

    async fn get_text(address: SocketAddr, path: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(address).await.expect("connect");
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("answer");
        answer
    }

    #[tokio::test]
    async fn probes_metrics_and_status_answer() {
        let server = Server::bind("127.0.0.1:0").await.expect("port");
        let address = server.address();
        let taken = Server::bind(&address.to_string()).await.expect_err("taken");
        assert_eq!(taken.kind().exit_code(), 4);
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let shutdown = async move { drop(stopped.await) };
        let task = tokio::task::spawn(serve(server, Arc::new(Restoring), shutdown));
        assert!(get_text(address, "/livez").await.starts_with("HTTP/1.1 200"));
        let ready = get_text(address, "/readyz").await;
        assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("10 of 20"), "{ready}");
        assert!(get_text(address, "/metrics").await.contains("lookaside_ready 0\n"));
        assert!(get_text(address, "/api/v1/status").await.contains(r#"{"state":"restoring"}"#));
        stop.send(()).expect("running");
        task.await.expect("join").expect("served");
    }
}
