//! The connections of one mount.

use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::Role;
use garland_protocol::files::FILES_LINKS;
use garland_protocol::wire::{Channel, Line, Secret};
use garland_sys::error::reason;
use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;
use garland_sys::tcp::{self, PREFERRED};
use garland_transport::{GreetingLimit, Identity};

use super::link::{Link, Threads};
use super::service::FileService;
use crate::log::log;
use crate::session::Session;

/// How long a mount may leave an answer unread before it is considered dead.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves the connections of one mount.
pub struct FileListener {
    /// The secret that the mount must know.
    pub secret: Secret,
    /// How often the mount may greet, together with all others of its owner.
    pub limit: Option<GreetingLimit>,
    sealed: bool,
    service: Arc<FileService>,
    threads: Threads,
    connections: Mutex<Connections>,
}

/// The connections of a mount.
struct Connections {
    /// Those that were accepted, by number; `None` for those not accepted yet.
    accepted: Vec<Option<TcpStream>>,
    /// Whether the mount has ended: a greeting that began before opens nothing.
    is_over: bool,
}

impl FileListener {
    /// Creates a listener for the connections of a mount of `session` that knows `secret`. If
    /// `sealed`, their contents are encrypted.
    pub(super) fn new(
        secret: Secret,
        sealed: bool,
        service: FileService,
        session: &Session,
    ) -> Self {
        let accepted = (0..FILES_LINKS).map(|_| None).collect();
        let connections = Mutex::new(Connections { accepted, is_over: false });
        let role = session.grant().role;
        let threads = Threads {
            slots: (role != Role::Controller).then(|| Arc::clone(&session.of_key.threads)),
            of_connection: role.budget().threads_of_connection,
        };
        let of = Identity::Key(session.caller.key);
        let limit = role.budget().mount_greetings.map(|rate| GreetingLimit { of, rate });
        Self { secret, limit, sealed, service: Arc::new(service), threads, connections }
    }

    /// Serves a connection whose greeting succeeded. Closes it if its number is invalid or already
    /// in use.
    pub fn enter(self: &Arc<Self>, stream: TcpStream, number: u16, channel: Channel) {
        let Ok(sending) = self.admit(&stream, number) else { return };
        let line = |line: Line| if self.sealed { line } else { line.into_clear() };
        let asks = Mutex::new((stream, line(channel.receiving)));
        let answers = Mutex::new((sending, line(channel.sending)));
        let link = Arc::new(Link { asks, answers, service: Arc::clone(&self.service) });
        let listener = Arc::clone(self);
        // If one connection breaks, all are closed. A mount that still runs reconnects with a new
        // order.
        if let Err(error) = link.serve(number, &self.threads, move || listener.shut()) {
            log(&format!("closed a mount's connections: {}", reason(&error)));
            self.shut();
        }
    }

    fn admit(&self, stream: &TcpStream, number: u16) -> io::Result<TcpStream> {
        stream.set_write_timeout(Some(UNREAD_TIMEOUT))?;
        tcp::keep_alive(stream)?;
        // Errors are ignored: the kernel's default works, too.
        let _ = tcp::choose_congestion(stream, &PREFERRED);
        let mut connections = self.connections.lock();
        if connections.is_over {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        match connections.accepted.get_mut(usize::from(number)) {
            Some(slot @ None) => *slot = Some(stream.try_clone()?),
            Some(Some(_)) | None => return Err(io::ErrorKind::AlreadyExists.into()),
        }
        stream.try_clone()
    }

    /// Shuts all connections down, and accepts no more.
    pub(super) fn shut(&self) {
        let mut connections = self.connections.lock();
        connections.is_over = true;
        for stream in connections.accepted.iter().flatten() {
            // Fails for a connection that is closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
