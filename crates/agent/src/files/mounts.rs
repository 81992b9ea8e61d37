//! The mounts of one controller. Each is opened by an order, and served while the controller's
//! channel is open.

use std::sync::Arc;

use garland_protocol::{CopyId, FilesOrder, FromAgent};

use super::listener::FileListener;
use super::service::FileService;
use crate::agent::Agent;
use crate::error::{OrderError, cannot};
use crate::expected::Expected;
use crate::session::Session;

/// The maximum number of mounts that one controller may have open over one channel.
const MOST: usize = 8;

/// The open mounts of one controller. They are served until this is dropped.
pub struct Mounts {
    agent: Arc<Agent>,
    /// Whether only bytes that the reader knows by their digests are read.
    only_verified: bool,
    listeners: Vec<(CopyId, Arc<FileListener>)>,
}

impl Mounts {
    /// Creates an empty set of mounts.
    pub fn new(agent: &Arc<Agent>) -> Self {
        Self { agent: Arc::clone(agent), only_verified: false, listeners: Vec::new() }
    }

    /// Creates an empty set of mounts of a member, which reads only bytes that it knows by their digests.
    pub fn of_member(agent: &Arc<Agent>) -> Self {
        Self { agent: Arc::clone(agent), only_verified: true, listeners: Vec::new() }
    }

    /// Opens a mount by order of `session`, unless too many are open, and reports the result.
    pub fn open(&mut self, session: &Session, order: FilesOrder) {
        let id = order.id;
        let refused = self.try_open(order).err();
        session.send(&FromAgent::FilesOpen(id, refused.map(|error| error.to_string())));
    }

    fn try_open(&mut self, order: FilesOrder) -> Result<(), OrderError> {
        if self.listeners.len() >= MOST {
            return Err(
                format!("too many mounts: a controller can have at most {MOST} open").into()
            );
        }
        let service =
            FileService::open(&self.agent.root, self.agent.disk.clone(), self.only_verified)
                .map_err(cannot("open the agent's root"))?;
        let FilesOrder { id, secret, sealed } = order;
        let listener = Arc::new(FileListener::new(secret, sealed, service));
        self.agent.expected.add(id, Expected::Mount(Arc::clone(&listener)));
        self.listeners.push((id, listener));
        Ok(())
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        // Answers to requests that hang on a disk are lost.
        for (id, listener) in &self.listeners {
            self.agent.expected.remove(*id);
            listener.shut();
        }
    }
}
