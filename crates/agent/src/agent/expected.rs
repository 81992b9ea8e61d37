//! Whom an agent's port is open to: neighbours that know a secret of something that is under way.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use garland_protocol::{CopyId, Keys, Secret};

use super::Agent;
use crate::files::FileListener;
use crate::probe::Invitation;
use garland_dataplane::context::CopyContext;

/// What a neighbour that greets with a secret is welcome for.
#[derive(Clone)]
pub enum Expected {
    /// A part in a copy.
    CopyContext(Arc<CopyContext>),
    /// A link that stands until a copy needs it.
    Link(Secret, Arc<Keys>),
    /// A meeting, to measure what lies between.
    Guest(Arc<Invitation>),
    /// A mount that asks for this node's files.
    Mount(Arc<FileListener>),
}

impl Agent {
    /// What a neighbour that names `copy` is welcome for; waits up to `patience` for it to begin.
    pub fn await_expected(&self, copy: CopyId, patience: Duration) -> Option<Expected> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = |expected: &mut HashMap<CopyId, _>| !expected.contains_key(&copy);
        let (expected, _) = self
            .joined
            .wait_timeout_while(expected, patience, absent)
            .unwrap_or_else(PoisonError::into_inner);
        expected.get(&copy).cloned()
    }

    /// Lets neighbours come that know the secret of `copy`.
    pub fn expect(&self, copy: CopyId, what: Expected) {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.insert(copy, what);
        self.joined.notify_all();
    }

    /// Lets them come no more.
    pub fn leave(&self, copy: CopyId) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).remove(&copy);
    }
}
