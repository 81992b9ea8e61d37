//! A session with one agent: copies one after another over the same control channel.

use std::time::Duration;

use garland_protocol::Verdict;

use super::{Agent, CopyJob, run_copy};
use crate::agents::{Agents, gone};
use garland_sys::error::reason;

/// A control channel over which one copy runs after another.
pub struct CopySession(Agent);

impl CopySession {
    /// Begins a session with an agent that takes no part in another operation.
    pub fn new(agent: Agent) -> Self {
        Self(agent)
    }

    /// Runs a copy to or from the session's node alone. Returns the result, and the session if its
    /// channel can still be used.
    pub fn run(self, job: &CopyJob<'_>) -> (Result<(), String>, Option<Self>) {
        let (outcome, agents) = match run_copy(job, vec![Ok(self.0)], None, &mut |_| {}) {
            Ok(copied) => copied,
            Err(error) => return (Err(reason(&error)), None),
        };
        let session = agents.into_iter().find_map(Result::ok).map(Self);
        let result = match outcome.nodes.into_iter().next().map(|node| node.verdict) {
            Some(Verdict::Ok) => Ok(()),
            Some(Verdict::Failed(why) | Verdict::Dead(why) | Verdict::Unknown(why)) => Err(why),
            None => Err(gone()),
        };
        (result, session)
    }

    /// Discards the messages that have arrived between copies. Returns the session, unless its
    /// channel is closed.
    pub fn refresh(self) -> Option<Self> {
        let mut agents = Agents::new(vec![Some(self.0)]);
        agents.wait([], Duration::ZERO).ok()?;
        agents.into_agents().next().flatten().map(Self)
    }
}
