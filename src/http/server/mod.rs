//! The axum server: routes, and a thread that answers until it is told to finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::error::{Error, Result};

use super::Observable;
use super::assets::{self, ASSETS};
use super::events::Feed;
use super::headers::secured;
use super::listener::{GuardedListener, SEND_BUFFER};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1_024;

/// Between two readings of the counters, and two events of a stream.
const TICK: Duration = Duration::from_secs(1);

/// Longest wait for streams to take their last event when the process ends.
const FINISH: Duration = Duration::from_millis(500);

type Replica = Arc<dyn Observable>;

/// A server that has its port.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

/// A server that answers.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
    thread: JoinHandle<()>,
}

/// What the routes answer from.
#[derive(Clone)]
struct Faces {
    replica: Replica,
    feed: Arc<Feed>,
}

impl Server {
    /// Takes the port.
    ///
    /// # Errors
    /// [`crate::error::Kind::External`] when the address is taken, or is none of this machine's.
    pub fn bind(address: SocketAddr) -> Result<Self> {
        let refused = |error: std::io::Error| {
            let remedy = "set http.address (--http, LOOKASIDE__HTTP__ADDRESS) to a free address";
            Error::external(format!("HTTP address {address} cannot be used: {error}; {remedy}"))
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::bug(format!("starting the HTTP server: {error}")))?;
        let listener = {
            let _runtime = runtime.enter();
            listen(address).map_err(refused)?
        };
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { runtime, listener, address })
    }

    /// The address with its real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers for `replica` on a thread of its own.
    ///
    /// # Errors
    /// [`crate::error::Kind::Bug`] if the thread cannot be started.
    pub fn start(self, replica: Arc<dyn Observable>) -> Result<Serving> {
        let Self { runtime, listener, address } = self;
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let serve = move || {
            runtime.block_on(serve(listener, replica, stopped));
            let _ = end.send(());
            // A client that does not take its last event is not waited for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("http".to_owned()).spawn(serve);
        let thread = thread.map_err(|error| Error::bug(format!("starting the HTTP thread: {error}")))?;
        Ok(Serving { address, stop, ended, thread })
    }
}

impl Serving {
    /// The address with its real port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends open streams a last event, ends them, and waits a moment for the clients to take it.
    pub fn finish(self) {
        let Self { stop, ended, thread, .. } = self;
        // A server that has ended by itself has logged why.
        let _ = stop.send(());
        let _ = ended.blocking_recv();
        let _ = thread.join();
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Connections take this over from the listener.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn serve(listener: TcpListener, replica: Replica, stopped: oneshot::Receiver<()>) {
    let clock = Clock::system();
    let faces = Faces { feed: Arc::new(Feed::new(Arc::clone(&replica))), replica };
    let feed = Arc::clone(&faces.feed);
    let (finish, finishing) = oneshot::channel::<()>();
    let listener = GuardedListener::new(listener, clock.clone());
    let answer =
        axum::serve(listener, router(faces)).with_graceful_shutdown(async move { drop(finishing.await) });
    let ticking = async {
        loop {
            feed.tick();
            clock.sleep(TICK).await;
        }
    };
    let stopping = async {
        drop(stopped.await);
        feed.end();
        let _ = finish.send(());
        clock.sleep(FINISH).await;
    };
    tokio::select! {
        ended = answer.into_future() => {
            if let Err(error) = ended {
                tracing::error!(%error, help = "restart the process", "the HTTP server has ended");
            }
        }
        () = ticking => {}
        () = stopping => {}
    }
}

fn router(faces: Faces) -> Router {
    let mut router = Router::new();
    for asset in ASSETS {
        router = router
            .route(asset.path, get(move |headers: HeaderMap| async move { assets::answer(asset, &headers) }));
    }
    router
        .route("/metrics", get(metrics))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/api/v1/status", get(status))
        .route("/api/v1/snapshot", get(snapshot))
        .route("/api/v1/events", get(events))
        .route("/api/v1/definition", get(definition))
        .fallback(nothing)
        .with_state(faces)
        .layer(map_response(secured))
}

const PLAIN: &str = "text/plain; charset=utf-8";

async fn metrics(State(faces): State<Faces>) -> Response {
    match faces.replica.metrics().into_text() {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn livez(State(faces): State<Faces>) -> Response {
    probe(faces.replica.liveness())
}

async fn readyz(State(faces): State<Faces>) -> Response {
    probe(faces.replica.readiness())
}

fn probe(state: Result<(), String>) -> Response {
    match state {
        Ok(()) => "ok\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn status(State(faces): State<Faces>) -> Response {
    Json(faces.replica.status()).into_response()
}

async fn snapshot(State(faces): State<Faces>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], faces.replica.snapshot()).into_response()
}

async fn events(State(faces): State<Faces>) -> Response {
    faces.feed.open()
}

async fn definition(State(faces): State<Faces>) -> Response {
    ([(header::CONTENT_TYPE, PLAIN)], faces.replica.definition()).into_response()
}

async fn nothing() -> Response {
    let text = "nothing is served here; there are / /metrics /livez /readyz /api/v1/status /api/v1/snapshot \
                /api/v1/events /api/v1/definition\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

#[cfg(test)]
mod tests;
