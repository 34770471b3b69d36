//! The event stream of the page: one snapshot per second for everybody who watches.
//!
//! Nothing here can slow the job down. A snapshot is computed once per second,
//! on the thread of the HTTP server, and only while a stream is open; all
//! streams share its bytes. A stream that is slow skips snapshots and never
//! collects them, and a client that takes nothing at all is cut off by
//! [`super::listener`]. The number of streams is bounded.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::{Semaphore, watch};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::WatchStream;

use super::Observable;

/// Streams at a time: a team's open pages. Each costs a copy of a few kilobytes per second.
const STREAMS_MAX: usize = 16;

/// Milliseconds after which a browser comes again when the stream has ended.
const RETRY_MILLIS: u32 = 2_000;

/// The snapshots and who watches them.
pub(super) struct Feed {
    replica: Arc<dyn Observable>,
    slots: Arc<Semaphore>,
    /// `None` when there will be no more.
    frames: Mutex<Option<watch::Sender<Bytes>>>,
}

impl Feed {
    pub(super) fn new(replica: Arc<dyn Observable>) -> Self {
        let frames = Mutex::new(Some(watch::Sender::default()));
        Self { replica, slots: Arc::new(Semaphore::new(STREAMS_MAX)), frames }
    }

    /// A second has passed.
    pub(super) fn tick(&self) {
        self.replica.tick();
        self.with_frames(|frames| {
            if 0 < frames.receiver_count() {
                frames.send_replace(self.frame());
            }
        });
    }

    /// Sends a last snapshot and ends every stream.
    pub(super) fn end(&self) {
        self.tick();
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// A stream, or why there is none.
    pub(super) fn open(&self) -> Response {
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else {
            let why =
                format!("{STREAMS_MAX} event streams are open, which is the limit: close another page\n");
            return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "10")], why).into_response();
        };
        let receiver = self.with_frames(|frames| {
            // What the others have got is at most a second old; without others it may be of any age.
            if frames.receiver_count() == 0 {
                frames.send_replace(self.frame());
            }
            frames.subscribe()
        });
        let Some(receiver) = receiver else {
            return (StatusCode::SERVICE_UNAVAILABLE, "the process is ending\n").into_response();
        };
        let stream = WatchStream::new(receiver).map(move |frame| {
            // The slot is free again when the stream is dropped.
            let _ = &slot;
            Ok::<_, Infallible>(frame)
        });
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
        (headers, Body::from_stream(stream)).into_response()
    }

    fn frame(&self) -> Bytes {
        // JSON on one line holds no line feed, which would end the field.
        let snapshot = self.replica.snapshot();
        Bytes::from(format!("retry: {RETRY_MILLIS}\nevent: snapshot\ndata: {snapshot}\n\n"))
    }

    fn with_frames<T>(&self, act: impl FnOnce(&watch::Sender<Bytes>) -> T) -> Option<T> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(act)
    }
}
