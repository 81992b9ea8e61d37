//! The mounts of one session. Each is opened by an order, and served while the session is open, as
//! far as the role of the session goes.

use std::sync::Arc;

use garland_protocol::FromAgent;
use garland_protocol::files::FilesOrder;

use super::listener::FileListener;
use super::service::{FileService, Reach};
use crate::agent::Agent;
use crate::error::{OrderError, cannot};
use crate::expected::{Expectation, Expected};
use crate::session::Session;

/// The open mounts of one session. They are served until this is dropped.
pub struct Mounts {
    agent: Arc<Agent>,
    open: Vec<Mount>,
}

struct Mount {
    listener: Arc<FileListener>,
    _expectation: Expectation,
}

impl Mounts {
    /// Creates an empty set of mounts.
    pub fn new(agent: &Arc<Agent>) -> Self {
        Self { agent: Arc::clone(agent), open: Vec::new() }
    }

    /// Opens a mount by order of `session`, unless too many are open, and reports the result.
    pub fn open(&mut self, session: &Session, order: FilesOrder) {
        let id = order.id;
        let refused = self.try_open(session, order).err();
        session.send(&FromAgent::FilesOpen(id, refused.map(|error| error.to_string())));
    }

    fn try_open(&mut self, session: &Session, order: FilesOrder) -> Result<(), OrderError> {
        let role = session.grant().role;
        let mounts_max = role.budget().mounts;
        if self.open.len() >= mounts_max {
            let role = role.words();
            let reason = format!("too many mounts: a {role} can have at most {mounts_max} open");
            return Err(reason.into());
        }
        let reach = Reach {
            role,
            holdings: Arc::clone(&self.agent.holdings),
            job_folders: Arc::clone(&self.agent.job_folders),
            active_ns: Arc::clone(&self.agent.active_ns),
            open_files: Arc::clone(&session.of_key.open_files),
        };
        let service = FileService::open(&self.agent.root, self.agent.disk.clone(), reach)
            .map_err(cannot("open the agent's root"))?;
        let FilesOrder { id, secret, sealed } = order;
        let listener = Arc::new(FileListener::new(secret, sealed, service, session));
        let expected = Expected::Mount(Arc::clone(&listener));
        let expectation = self.agent.expected.add(id, expected)?;
        self.open.push(Mount { listener, _expectation: expectation });
        Ok(())
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        // Answers to requests that hang on a disk are lost.
        self.open.drain(..).for_each(|mount| mount.listener.shut());
    }
}
