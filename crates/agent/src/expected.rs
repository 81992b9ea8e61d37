//! The connections which an agent's port accepts: those of neighbours which know a secret of
//! something that is under way.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use garland_protocol::{CopyId, Keys, Secret};

use crate::files::FileListener;
use crate::probe::Invitation;
use garland_dataplane::context::CopyContext;

/// What a neighbour may connect for.
#[derive(Clone)]
pub enum Expected {
    /// A link of a copy.
    CopyContext(Arc<CopyContext>),
    /// A standing link, for a later copy.
    Link(Secret, Arc<Keys>),
    /// A meeting of two agents.
    Guest(Arc<Invitation>),
    /// A mount of this node's files.
    Mount(Arc<FileListener>),
}

/// What is expected, by the identity which a neighbour names.
#[derive(Default)]
pub struct Expectations {
    expected: Mutex<HashMap<CopyId, Expected>>,
    added: Condvar,
}

impl Expectations {
    /// What is expected for `id`; waits up to `patience` for it to be added.
    pub fn wait(&self, id: CopyId, patience: Duration) -> Option<Expected> {
        let absent = |expected: &mut HashMap<CopyId, _>| !expected.contains_key(&id);
        let mut expected = self.lock();
        let _ = self.added.wait_while_for(&mut expected, absent, patience);
        expected.get(&id).cloned()
    }

    /// Accepts neighbours which know the secret of `id`.
    pub fn add(&self, id: CopyId, what: Expected) {
        self.lock().insert(id, what);
        self.added.notify_all();
    }

    /// Accepts no more neighbours for `id`.
    pub fn remove(&self, id: CopyId) {
        self.lock().remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CopyId, Expected>> {
        self.expected.lock()
    }
}
