//! The connections that an agent's port accepts from other nodes: each belongs to an operation in
//! progress, whose secret the peer must know.

use std::collections::HashMap;
use std::sync::Arc;

use garland_protocol::{CopyId, Purpose, Secret};
use garland_sys::sync::Mutex;

use crate::files::FileListener;
use crate::probe::Invitation;
use garland_dataplane::context::CopyContext;
use garland_sys::event::Wake;

/// The operation to which a connection belongs.
#[derive(Clone)]
pub enum Expected {
    /// A link of a copy.
    CopyContext(Arc<CopyContext>),
    /// A standing link, for a later copy.
    Link(Secret),
    /// A meeting, in which the other agent connects to this one.
    Guest(Arc<Invitation>),
    /// A mount of this node's files.
    Mount(Arc<FileListener>),
}

impl Expected {
    /// Returns the purpose of the operation's connections, and the secret that peers must know.
    pub fn key(&self) -> (Purpose, Secret) {
        let (purpose, secret) = match self {
            Self::CopyContext(member) => (Purpose::Link, &member.config.secret),
            Self::Link(secret) => (Purpose::Link, secret),
            Self::Guest(invitation) => (Purpose::Probe, &invitation.secret),
            Self::Mount(listener) => (Purpose::Files, &listener.secret),
        };
        (purpose, secret.clone())
    }
}

/// The operations that expect connections, by the identity that a peer sends.
pub struct Expectations {
    expected: Mutex<HashMap<CopyId, Expected>>,
    /// Raised when an operation is added.
    added: Arc<Wake>,
}

impl Expectations {
    /// Creates an empty set, which raises `added` when an operation is added.
    pub fn new(added: Arc<Wake>) -> Self {
        Self { expected: Mutex::default(), added }
    }

    /// Returns the operation `id`, if it expects connections.
    pub fn get(&self, id: CopyId) -> Option<Expected> {
        self.expected.lock().get(&id).cloned()
    }

    /// Accepts connections for the operation `id` from peers that know its secret.
    pub fn add(&self, id: CopyId, what: Expected) {
        self.expected.lock().insert(id, what);
        self.added.raise();
    }

    /// Accepts no more connections for the operation `id`.
    pub fn remove(&self, id: CopyId) {
        self.expected.lock().remove(&id);
    }
}
