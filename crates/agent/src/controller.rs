//! A controller that an agent serves.

use std::io;
use std::sync::Arc;

use garland_protocol::FromAgent;
use garland_sys::error::reason;
use garland_sys::threads;
use garland_sys::threads::JoinHandle;

use crate::agent::Agent;
use crate::session::Session;

/// The agent, and the session of a controller that it serves.
#[derive(Clone)]
pub struct Controller {
    /// The agent.
    pub agent: Arc<Agent>,
    /// The channel to the controller.
    pub session: Arc<Session>,
}

impl Controller {
    /// Runs `work` in a thread. If the controller has too many threads already, or none can be
    /// started, sends the message that `failed` creates from the reason, and returns `None`. A
    /// thread that hangs on a disk keeps its slot.
    pub fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(&Self) + Send + 'static,
        failed: impl FnOnce(String) -> FromAgent,
    ) -> Option<JoinHandle<()>> {
        let controller = self.clone();
        let too_many = || {
            let role = self.session.grant().role;
            let threads = role.budget().threads;
            let who = role.words();
            io::Error::other(format!(
                "{threads} operations of this {who} are in progress, or hang on the node's disks"
            ))
        };
        let thread = self.session.of_key.threads.take().ok_or_else(too_many).and_then(|slot| {
            threads::spawn(name, move || {
                let _slot = slot;
                work(&controller);
            })
        });
        thread.map_err(|error| self.session.send(&failed(reason(&error)))).ok()
    }
}
