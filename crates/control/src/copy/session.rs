//! A session with one agent: copies one after another over the same control channel.

use std::time::Duration;

use garland_protocol::copy::Verdict;
use garland_protocol::farm::dispatch::TransferFailure;
use garland_sys::error::reason;
use garland_sys::signal::Interrupts;

use super::{Agent, CopyJob, run_copy};
use crate::agents::{Agents, gone};

/// A control channel over which one copy runs after another.
pub struct CopySession(Agent);

impl CopySession {
    /// Begins a session with an agent that takes no part in another operation.
    pub fn new(agent: Agent) -> Self {
        Self(agent)
    }

    /// Runs a copy to or from the session's node alone, until `cancellation` is raised. Returns the
    /// result, and the session if its channel can still be used.
    pub fn run(
        self,
        job: &CopyJob<'_>,
        cancellation: &Interrupts,
    ) -> (Result<(), TransferFailure>, Option<Self>) {
        let copied = run_copy(job, vec![Ok(self.0)], Some(cancellation), &mut |_| {});
        let (outcome, agents) = match copied {
            Ok(copied) => copied,
            // This machine lacks something.
            Err(error) => return (Err(TransferFailure::Files(reason(&error))), None),
        };
        let session = agents.into_iter().find_map(Result::ok).map(Self);
        let result = match outcome.nodes.into_iter().next().map(|node| node.verdict) {
            Some(Verdict::Ok) => Ok(()),
            Some(Verdict::Failed(why)) if session.is_some() => Err(TransferFailure::Files(why)),
            Some(Verdict::Failed(why) | Verdict::Dead(why) | Verdict::Unknown(why)) => {
                Err(TransferFailure::Node(why))
            }
            None => Err(TransferFailure::Node(gone())),
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
