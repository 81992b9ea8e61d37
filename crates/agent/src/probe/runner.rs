//! A meeting at one agent: a thread that connects, measures, and says what it found.

use std::io::ErrorKind;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_protocol::{Complaint, CopyId, Finding, FromAgent, Meeting, Task};
use garland_sys::program::Program;
use garland_sys::{clock, pinning, threads};

use super::guest::Invitation;
use super::{SILENCE, greeting, ping, stream};
use crate::agent::{Agent, Expected};
use crate::session::Session;
use garland_sys::error::reason;

/// Meetings that one controller may have at one agent at a time.
const MOST: usize = 32;

/// A meeting under way.
pub struct Running {
    place: Arc<Place>,
    thread: JoinHandle<()>,
}

/// What the meeting's thread and those who end it share.
pub struct Place {
    id: CopyId,
    over: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
    session: Arc<Session>,
    deadline_ns: u64,
    helper: Option<Arc<Program>>,
}

impl Running {
    /// Begins a meeting that `session` ordered, unless so many are `running` already; one that
    /// can't begin is said to be over. The head may have brought a `helper` for it.
    pub fn begin(
        agent: &Arc<Agent>,
        session: &Arc<Session>,
        meeting: Meeting,
        helper: Option<Arc<Program>>,
        running: &mut Vec<Self>,
    ) {
        running.retain(|other| !other.thread.is_finished());
        let refused = match meeting.check() {
            Ok(()) if running.len() >= MOST => Some(format!("{MOST} meetings at once are enough")),
            checked => checked.err(),
        };
        if let Some(reason) = refused {
            let complaint = Complaint { reason, left_alone: false };
            return session.send(&FromAgent::ProbeEnded(meeting.id, Some(complaint)));
        }
        let limit = Duration::from_millis(u64::from(meeting.limit_ms));
        let place = Arc::new(Place {
            id: meeting.id,
            over: AtomicBool::new(false),
            streams: Mutex::new(Vec::new()),
            session: Arc::clone(session),
            deadline_ns: clock::now_ns() + u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX >> 1),
            helper,
        });
        // Before anything else is read from the head: the guest may be on its way.
        let invitation = meeting.dial.is_none().then(|| {
            let invitation = Arc::new(Invitation::new(meeting.secret.clone(), meeting.streams));
            agent.expect(meeting.id, Expected::Guest(Arc::clone(&invitation)));
            invitation
        });
        let id = meeting.id;
        let (its, inside) = (Arc::clone(agent), Arc::clone(&place));
        let thread = threads::spawn("meeting", move || {
            let agent = its;
            let ended = inside.hold(&agent, &meeting, invitation.as_deref());
            agent.leave(meeting.id);
            let left_alone = inside.is_alone();
            let complaint = ended.err().map(|reason| Complaint { reason, left_alone });
            // The head is told the reason before the other agent sees that this one has left.
            inside.session.send(&FromAgent::ProbeEnded(meeting.id, complaint));
            inside.close();
        });
        match thread {
            Ok(thread) => running.push(Self { place, thread }),
            Err(error) => {
                agent.leave(id);
                let complaint = Complaint { reason: reason(&error), left_alone: false };
                session.send(&FromAgent::ProbeEnded(id, Some(complaint)));
            }
        }
    }

    /// Ends the meeting `id`, if it is still among those that are `running`.
    pub fn end_one(running: &mut Vec<Self>, id: CopyId) {
        running.extract_if(.., |meeting| meeting.place.id == id).for_each(Self::end);
    }

    /// Ends it, and waits for that.
    pub fn end(self) {
        self.place.over.store(true, Ordering::Release);
        self.place.close();
        // Its panic has been printed; there is nothing more to say about it here.
        let _ = self.thread.join();
    }
}

impl Place {
    /// Says what was found.
    pub fn found(&self, finding: Finding) {
        self.session.send(&FromAgent::Found(self.id, Box::new(finding)));
    }

    /// The program that goes by fabrics, if the head has brought it.
    pub fn helper(&self) -> Option<&Program> {
        self.helper.as_deref()
    }

    /// Whether the meeting was ended or its time is over: whoever measures without waiting asks.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire) || clock::now_ns() >= self.deadline_ns
    }

    fn hold(
        &self,
        agent: &Agent,
        meeting: &Meeting,
        invitation: Option<&Invitation>,
    ) -> Result<(), String> {
        let streams = match (meeting.dial, invitation) {
            (Some(address), _) => (0..meeting.streams)
                .map(|number| greeting::dial(address, meeting, number, agent.transport()))
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| format!("connecting to {address}: {error}"))?,
            (None, Some(invitation)) => invitation
                .all(SILENCE)
                .map_err(|_| format!("the other agent didn't connect in {SILENCE:?}"))?,
            (None, None) => return Err("nobody to meet".to_owned()),
        };
        self.keep(&streams).map_err(|error| reason(&error))?;
        if let Some(cpu) = meeting.pin {
            pinning::stay_on(usize::from(cpu))
                .map_err(|error| format!("staying on CPU {cpu}: {}", reason(&error)))?;
        }
        match &meeting.task {
            Task::Ping(task) => ping::take_part(self, task, meeting.dial.is_some(), &streams),
            Task::Stream(task) => stream::take_part(self, task, meeting.dial.is_some(), &streams),
        }
    }

    /// Keeps the connections at hand, so that the meeting can be ended, and gives them deadlines.
    fn keep(&self, streams: &[TcpStream]) -> std::io::Result<()> {
        let mut kept = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Whether the other agent has left, as far as connections tell.
    fn is_alone(&self) -> bool {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let has_left = |stream: &TcpStream| {
            let looked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
            looked.map_or_else(|error| error.kind() != ErrorKind::WouldBlock, |bytes| bytes == 0)
        };
        streams.iter().any(has_left)
    }

    fn close(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is closed already needs no more.
        streams.drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}
