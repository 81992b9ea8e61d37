//! How many threads work for the owner of each key, over all of its sessions.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use garland_protocol::{Grant, PublicKey};
use garland_sys::sync::Mutex;
use garland_sys::threads::Slots;

/// The slots for threads of each key that has sessions, or threads that hang on a disk.
#[derive(Debug, Default)]
pub struct KeyThreads(Mutex<HashMap<PublicKey, Weak<Slots>>>);

impl KeyThreads {
    /// Returns the slots of the owner of `key`, which all of its sessions share.
    pub fn of_key(&self, key: PublicKey, grant: &Grant) -> Arc<Slots> {
        let mut all = self.0.lock();
        if let Some(slots) = all.get(&key).and_then(Weak::upgrade) {
            return slots;
        }
        all.retain(|_, slots| slots.strong_count() > 0);
        let slots = Slots::new(grant.role.budget().threads);
        all.insert(key, Arc::downgrade(&slots));
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_no_more_threads_by_ending_its_sessions_while_threads_hang() {
        let threads = KeyThreads::default();
        let grant = Grant::member("n1", false);
        let first = threads.of_key([1; 32], &grant);
        let hanging: Vec<_> = std::iter::from_fn(|| first.take()).collect();
        assert_eq!(hanging.len(), grant.role.budget().threads);
        drop(first);
        assert!(threads.of_key([1; 32], &grant).take().is_none());
        assert!(threads.of_key([2; 32], &grant).take().is_some(), "another key");
        drop(hanging);
        assert!(threads.of_key([1; 32], &grant).take().is_some());
    }
}
