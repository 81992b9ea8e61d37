//! Replaces standing agents of older releases.

use garland_core::cluster::Node;
use garland_protocol::{RetireReply, RetireRequest, spoken};

use super::{FleetBuilder, Starter};
use crate::reach::Unreached;
use crate::standing::{Settings, Standing};

impl FleetBuilder<'_> {
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
