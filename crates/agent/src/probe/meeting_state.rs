//! The state of a meeting, shared between the meeting's thread and the thread that may end the
//! meeting.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_protocol::FromAgent;
use garland_protocol::copy::CopyId;
use garland_protocol::measure::Finding;
use garland_sys::clock;
use garland_sys::clock::after;
use garland_sys::program::Program;
use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;

use super::SILENCE;
use crate::session::Session;

/// A meeting in progress: its connections, and whether it is over.
pub struct MeetingState {
    /// The identity of the meeting.
    pub id: CopyId,
    over: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
    session: Arc<Session>,
    deadline_ns: u64,
    /// The program `garland-fabric`; `None` if the head has not sent it.
    pub helper: Option<Arc<Program>>,
}

impl MeetingState {
    /// Creates the state of a meeting that `session` ordered and that may last for `limit`.
    /// `helper` is the program `garland-fabric`, if the head has sent it.
    pub fn new(
        id: CopyId,
        limit: Duration,
        session: &Arc<Session>,
        helper: Option<Arc<Program>>,
    ) -> Self {
        Self {
            id,
            over: AtomicBool::new(false),
            streams: Mutex::default(),
            session: Arc::clone(session),
            deadline_ns: after(limit),
            helper,
        }
    }

    /// Ends the meeting: its connections are shut down.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.close();
    }

    /// Sends a finding to the head.
    pub fn found(&self, finding: Finding) {
        self.session.send(&FromAgent::Found(self.id, Box::new(finding)));
    }

    /// Returns whether the meeting was ended or its time is over. Measurements that do not block
    /// poll this.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire) || clock::now_ns() >= self.deadline_ns
    }

    /// Sets timeouts on the connections, and keeps the connections so that [`Self::end`] can shut
    /// them down. Fails if the meeting has been ended meanwhile.
    pub fn keep(&self, streams: &[TcpStream]) -> io::Result<()> {
        let mut kept = self.streams.lock();
        for stream in streams {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
            kept.push(stream.try_clone()?);
        }
        if self.over.load(Ordering::Acquire) {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    /// Returns whether the other agent has closed a connection, or a connection is broken. Makes
    /// the connections non-blocking.
    pub fn is_alone(&self) -> bool {
        let streams = self.streams.lock();
        let has_left = |stream: &TcpStream| {
            let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
            looked.map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |bytes| bytes == 0)
        };
        streams.iter().any(has_left)
    }

    /// Shuts the connections down.
    pub fn close(&self) {
        // Fails for a connection that is closed already.
        self.streams.lock().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}
