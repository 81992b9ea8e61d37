//! Makes way for the successors of standing agents: of those that have ended, and of those of older
//! releases.

use garland_core::cluster::Node;
use garland_protocol::wire::{RetireReply, RetireRequest, spoken};

use super::{FleetBuilder, Starter};
use crate::reach::Unreached;
use crate::standing::{Settings, Standing};

impl FleetBuilder<'_> {
    /// Makes sure that the standing agent of `node`, to which `error` prevented a connection, has
    /// ended, unless it is in use. Returns the settings that its successor keeps, if it is to have
    /// one also after a command that starts no standing agents.
    ///
    /// # Errors
    /// When the agent may still run: the reason, with advice.
    pub(super) fn make_way(
        &self,
        node: &Node,
        standing: &Standing,
        error: &Unreached,
        starter: &Starter<'_>,
    ) -> Result<Option<Settings>, String> {
        let is_interrupted = matches!(error, Unreached::Interrupted);
        if !is_interrupted && !error.may_have_ended() {
            return self.replace(node, standing, error, starter).map(Some);
        }
        // What needs no agent that stays does not wait for another login.
        if self.stay.is_none() && self.is_real(node) {
            return Err(error.of_standing());
        }
        let found = match is_interrupted {
            // Nobody has used it.
            true => self.processes().end(standing).map(|_| Vec::new()),
            false => self.processes().find(standing),
        };
        match found.map(|running| running.first().copied()) {
            // It ended after its idle time, or its machine was restarted.
            Ok(None) => Ok(None),
            Ok(Some(pid)) => Err(format!(
                "{error}, although its standing agent runs (process {pid}): a firewall probably \
                 rejects connections; to end the agent: garland down '{}'",
                node.name
            )),
            Err(why) => Err(error.of_unconfirmed(&node.name, &why)),
        }
    }

    /// Ends the standing agent of `node`, to which `error` prevented a connection, if it is one of
    /// an older release and no command uses it. Returns the settings for its successor.
    ///
    /// # Errors
    /// When the agent stays: the reason, with advice.
    pub(super) fn replace(
        &self,
        node: &Node,
        standing: &Standing,
        error: &Unreached,
        starter: &Starter<'_>,
    ) -> Result<Settings, String> {
        let Some(other) = error.other_release() else { return Err(error.of_standing()) };
        // A Slurm step, which this command may use, starts no successor.
        let can_stand = !self.is_real(node) || starter.launchers.can_stand();
        let asked = (other.is_older() && can_stand).then(|| {
            let request = RetireRequest::Replace(spoken());
            self.reach(node, standing, |at| at.retire(starter.keys, request))
        });
        let reason = match asked {
            Some(Ok(RetireReply::Ends)) => {
                let text = "one of this release replaces it";
                let text = format!("its standing agent was {other}; {text}");
                starter.notes.add(node, "retired", text);
                return Ok(standing.settings.clone());
            }
            Some(Ok(RetireReply::Busy)) => format!(
                "its standing agent is {other}, and other commands use it: when they have ended, \
                 `garland up NODE` replaces it"
            ),
            Some(Ok(RetireReply::NotOlder)) => "its standing agent is not of an older release, \
                 though it seemed so: bytes were changed in transit"
                .to_owned(),
            // Another command may have had it end at the same time.
            Some(Err(error)) if error.may_have_ended() => {
                self.make_way(node, standing, &error, starter)?;
                return Ok(standing.settings.clone());
            }
            Some(Err(error)) => error.of_retirement(),
            None => error.of_standing(),
        };
        // The reason is the node's verdict, unless this command does without that agent.
        if self.stay.is_none() {
            let text = format!("{reason}; this command starts an agent of its own");
            starter.notes.add(node, "kept", text);
        }
        Err(reason)
    }
}
