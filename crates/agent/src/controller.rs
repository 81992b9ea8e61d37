//! A controller that an agent serves.

use std::sync::Arc;
use std::thread::JoinHandle;

use garland_protocol::FromAgent;
use garland_sys::threads;

use crate::agent::Agent;
use crate::session::Session;
use garland_sys::error::reason;

/// The agent, and the session of a controller that it serves.
#[derive(Clone)]
pub struct Controller {
    /// The agent.
    pub agent: Arc<Agent>,
    /// The channel to the controller.
    pub session: Arc<Session>,
}

impl Controller {
    /// Runs `work` in a thread. If no thread can be started, sends the message that `failed`
    /// creates from the reason.
    pub fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(&Self) + Send + 'static,
        failed: impl FnOnce(String) -> FromAgent,
    ) -> Option<JoinHandle<()>> {
        let controller = self.clone();
        let thread = threads::spawn(name, move || work(&controller));
        thread.map_err(|error| self.session.send(&failed(reason(&error)))).ok()
    }
}
