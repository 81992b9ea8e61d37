//! Ends standing agents, and confirms that they have ended.

use garland_protocol::wire::{KeyPair, RetireReply, RetireRequest};

use crate::processes::Processes;
use crate::reach::Unreached;
use crate::standing::{Stage, Standing};

/// How a standing agent came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentEnd {
    /// It was asked, and consented by its key.
    Consented,
    /// It could not be asked, and its process was ended.
    Killed,
    /// None of its processes ran.
    Before,
}

/// Why it is not known that a standing agent has ended.
#[derive(Debug)]
pub struct Unended {
    error: Unreached,
    /// Why its node does not tell whether it has ended; `None` if the node was not asked, since the
    /// agent may well run.
    unconfirmed: Option<String>,
}

impl Unended {
    /// Returns the reason without advice.
    pub fn reason(&self) -> String {
        match &self.unconfirmed {
            None => self.error.to_string(),
            Some(why) => format!("{}, and its end is not confirmed: {why}", self.error),
        }
    }

    /// Returns the reason with advice for the standing agent of the node `name`.
    pub fn of_node(&self, name: &str) -> String {
        match (&self.unconfirmed, self.error.other_release()) {
            (Some(why), _) => self.error.of_unconfirmed(name, why),
            (None, Some(_)) => self.error.of_retirement(),
            (None, None) => self.error.of_standing(),
        }
    }
}

/// Ends an agent by the key that it obeys, or by its process if connections to it are refused or
/// its start was interrupted. `ask` passes the request on to the agent.
///
/// # Errors
/// When the agent may still run.
pub fn end(
    standing: &Standing,
    processes: &Processes<'_>,
    ask: impl FnOnce(&Standing) -> Result<RetireReply, Unreached>,
) -> Result<AgentEnd, Unended> {
    let error = match standing.stage() {
        Stage::Interrupted => Unreached::Interrupted,
        Stage::Starting(pid) => {
            return Err(Unended { error: Unreached::Starting(pid), unconfirmed: None });
        }
        Stage::Ready => match ask(standing) {
            Ok(_) => return Ok(AgentEnd::Consented),
            Err(error) if error.may_have_ended() => error,
            Err(error) => return Err(Unended { error, unconfirmed: None }),
        },
    };
    match processes.end(standing) {
        Ok(ended) if ended.is_empty() => Ok(AgentEnd::Before),
        Ok(_) => Ok(AgentEnd::Killed),
        Err(why) => Err(Unended { error, unconfirmed: Some(why) }),
    }
}

/// Ends an agent that this process reaches by itself; see [`end`].
///
/// # Errors
/// When the agent may still run.
pub fn end_by(
    keys: &KeyPair,
    standing: &Standing,
    processes: &Processes<'_>,
) -> Result<AgentEnd, Unended> {
    if standing.obeys(&keys.public) == Some(false) {
        return Err(Unended { error: Unreached::OtherKey, unconfirmed: None });
    }
    end(standing, processes, |standing| standing.retire(keys, RetireRequest::End))
}
