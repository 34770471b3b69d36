//! A TCP proxy inside the test process: forwards to a real server until the test says otherwise.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

const FORWARD: u8 = 0;
const REFUSE: u8 = 1;
const STALL: u8 = 2;

/// Stands in front of a server. Dropping it closes everything.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _runtime: Runtime,
}

struct Shared {
    mode: AtomicU8,
    /// Refusals left before it forwards again; only counted in `refuse_next`.
    refusals_left: AtomicUsize,
    accepted: AtomicUsize,
    /// Bumped to end every open connection.
    generation: watch::Sender<u64>,
}

impl Proxy {
    /// Listens on a free port in front of `target`.
    pub fn new(target: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("runtime");
        let listener = StdListener::bind("127.0.0.1:0").expect("free port");
        listener.set_nonblocking(true).expect("nonblocking");
        let address = listener.local_addr().expect("address");
        let shared = Arc::new(Shared {
            mode: AtomicU8::new(FORWARD),
            refusals_left: AtomicUsize::new(0),
            accepted: AtomicUsize::new(0),
            generation: watch::Sender::new(0),
        });
        runtime.spawn(accept(listener, target.to_owned(), Arc::clone(&shared)));
        Self { address, shared, _runtime: runtime }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// New connections are closed at once, open ones too.
    pub fn refuse(&self) {
        self.shared.mode.store(REFUSE, Ordering::SeqCst);
        self.cut();
    }

    /// The next `count` connections are closed at once, then it forwards again.
    pub fn refuse_next(&self, count: usize) {
        self.shared.refusals_left.store(count, Ordering::SeqCst);
        self.cut();
    }

    /// New connections are accepted and never answered; open ones are cut.
    pub fn stall(&self) {
        self.shared.mode.store(STALL, Ordering::SeqCst);
        self.cut();
    }

    /// Forwards again.
    pub fn forward(&self) {
        self.shared.mode.store(FORWARD, Ordering::SeqCst);
    }

    /// Closes every open connection.
    pub fn cut(&self) {
        self.shared.generation.send_modify(|generation| *generation += 1);
    }

    /// Connections that were made to it so far.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

async fn accept(listener: StdListener, target: String, shared: Arc<Shared>) {
    let listener = TcpListener::from_std(listener).expect("listener");
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        shared.accepted.fetch_add(1, Ordering::SeqCst);
        let refused = shared.refusals_left.load(Ordering::SeqCst) > 0;
        if refused {
            shared.refusals_left.fetch_sub(1, Ordering::SeqCst);
        }
        if refused || shared.mode.load(Ordering::SeqCst) == REFUSE {
            continue;
        }
        let stalled = shared.mode.load(Ordering::SeqCst) == STALL;
        tokio::spawn(serve(client, target.clone(), stalled, shared.generation.subscribe()));
    }
}

async fn serve(mut client: TcpStream, target: String, stalled: bool, mut generation: watch::Receiver<u64>) {
    let forwarding = async {
        if stalled {
            std::future::pending::<()>().await;
        }
        let Ok(mut server) = TcpStream::connect(&target).await else { return };
        let _ = copy_bidirectional(&mut client, &mut server).await;
    };
    tokio::select! {
        () = forwarding => {}
        _ = generation.changed() => {}
    }
}
