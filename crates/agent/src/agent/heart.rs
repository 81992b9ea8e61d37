//! Sends heartbeats and reports of this node to the head, from a thread that no disk can block.

use std::io;
use std::sync::Arc;

use garland_dataplane::recorder::Pulse;
use garland_protocol::FromAgent;
use garland_sys::channel::{RecvTimeoutError, Sender, channel};
use garland_sys::threads::{self, Joined};

use super::copies::InProgress;
use crate::session::Session;

/// The thread that sends heartbeats. Dropping this value stops the thread.
pub struct Heart {
    _stop: Sender<()>,
    _beat: Joined,
}

impl Heart {
    /// Starts the thread. A heartbeat contains a report of every copy of `in_progress`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(session: Arc<Session>, in_progress: Arc<InProgress>) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let beat = threads::spawn("heart", move || {
            let mut every = session.heartbeat();
            let mut pulse = Pulse::begin(every);
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                // Lock the list only to clone the contexts: the end of a copy must not wait for a
                // heartbeat.
                let copies: Vec<_> =
                    in_progress.tasks.lock().iter().map(|part| Arc::clone(&part.copy)).collect();
                let stood = pulse.beat();
                session.look_at_connection();
                let opening = in_progress.opening();
                let begun = copies.iter().map(|copy| (copy.config.id, copy.report()));
                session.beat(&FromAgent::Heartbeat(opening.into_iter().chain(begun).collect()));
                for copy in copies {
                    stood.iter().for_each(|stood| stood.note(&copy.config.trace));
                    copy.sample();
                    copy.lanes.cut_silent();
                }
                every = session.heartbeat();
                pulse.rest(every);
            }
        })?;
        // The sender is dropped first, which ends the thread.
        Ok(Self { _stop: stop, _beat: beat.into() })
    }
}
