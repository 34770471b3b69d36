//! Connections with bounds: in number, in the time they may stand still, in what they may leave unread.
//!
//! A client that stops reading would otherwise keep its socket, its buffers
//! and its event stream for as long as TCP has patience, which is hours.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::{Clock, Millis};

/// Connections at a time: probes, scrapes and pages need a few dozen. Beyond that a new one waits.
const CONNECTIONS_MAX: usize = 256;

/// A client that takes nothing for so long is cut off.
const WRITE_STALL: Millis = 10_000;

/// A connection without any traffic for so long is closed. Longer than the usual interval of scrapes,
/// which keep their connection; an event stream has traffic every second.
const IDLE: Millis = 90_000;

/// Bytes that the system holds for a client that does not read: a few snapshots.
pub(super) const SEND_BUFFER: u32 = 64 << 10;

/// Wait after the system refused a connection, as for lack of file descriptors.
const REFUSED_WAIT: Duration = Duration::from_millis(200);

/// A listener whose connections are [`Guarded`].
pub(super) struct GuardedListener {
    listener: TcpListener,
    slots: Arc<Semaphore>,
    clock: Clock,
}

impl GuardedListener {
    pub(super) fn new(listener: TcpListener, clock: Clock) -> Self {
        Self { listener, slots: Arc::new(Semaphore::new(CONNECTIONS_MAX)), clock }
    }
}

impl Listener for GuardedListener {
    type Io = Guarded<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else {
                std::future::pending().await
            };
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // A snapshot leaves at once; a client that has gone meanwhile is found out soon enough.
                    let _ = stream.set_nodelay(true);
                    return (Guarded::new(stream, self.clock.clone(), Some(slot)), address);
                }
                Err(error) => {
                    tracing::debug!(%error, "a connection could not be accepted");
                    self.clock.sleep(REFUSED_WAIT).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

type Alarm = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection that ends when it stands still.
pub(super) struct Guarded<S> {
    stream: S,
    clock: Clock,
    /// When bytes last went either way.
    moved: Millis,
    /// Since when the client takes nothing of what is to be sent.
    blocked: Option<Millis>,
    /// Wakes the connection's task at that time.
    alarm: Option<(Millis, Alarm)>,
    _slot: Option<OwnedSemaphorePermit>,
}

impl<S> Guarded<S> {
    fn new(stream: S, clock: Clock, slot: Option<OwnedSemaphorePermit>) -> Self {
        Self { stream, moved: clock.now(), clock, blocked: None, alarm: None, _slot: slot }
    }

    /// When it has stood still for too long.
    fn deadline(&self) -> Millis {
        let idle = self.moved.saturating_add(IDLE);
        self.blocked.map_or(idle, |since| since.saturating_add(WRITE_STALL).min(idle))
    }

    /// Nothing moves: pending, until that has lasted too long.
    fn stands_still<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            let (now, deadline) = (self.clock.now(), self.deadline());
            if deadline <= now {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            if self.alarm.as_ref().is_none_or(|(at, _)| deadline < *at) {
                let wait = Duration::from_millis(u64::try_from(deadline - now).unwrap_or(1));
                let clock = self.clock.clone();
                self.alarm = Some((deadline, Box::pin(async move { clock.sleep(wait).await })));
            }
            if let Some((_, alarm)) = &mut self.alarm {
                ready!(alarm.as_mut().poll(context));
            }
            self.alarm = None;
        }
    }

    fn has_moved(&mut self) {
        self.moved = self.clock.now();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Pending => self.stands_still(context),
            ready => {
                self.has_moved();
                ready
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => {
                let now = self.clock.now();
                self.blocked.get_or_insert(now);
                self.stands_still(context)
            }
            ready => {
                self.blocked = None;
                self.has_moved();
                ready
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    // A manual clock moves on by itself when it is slept on: every wait is over at once, and its time has passed.

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_cut_off() {
        let clock = Clock::manual(0);
        let (server, mut client) = duplex(16);
        let mut server = Guarded::new(server, clock.clone(), None);
        server.write_all(&[0; 16]).await.expect("room for it");
        let mut read = [0; 16];
        client.read_exact(&mut read).await.expect("read");
        server.write_all(&[0; 16]).await.expect("room again");
        let error = server.write_all(&[0; 16]).await.expect_err("nobody reads");
        assert_eq!((error.kind(), clock.now()), (io::ErrorKind::TimedOut, WRITE_STALL));
    }

    #[tokio::test]
    async fn a_connection_without_traffic_is_closed() {
        let clock = Clock::manual(0);
        let (server, mut client) = duplex(16);
        let mut server = Guarded::new(server, clock.clone(), None);
        client.write_all(b"hello").await.expect("write");
        let mut read = [0; 5];
        server.read_exact(&mut read).await.expect("read");
        let error = server.read_exact(&mut read).await.expect_err("silence");
        assert_eq!((error.kind(), clock.now()), (io::ErrorKind::TimedOut, IDLE));
    }
}
