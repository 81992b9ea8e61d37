//! How many threads work for the owner of each key, and how many files it has open, over all of its
//! sessions.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use garland_protocol::Grant;
use garland_protocol::wire::PublicKey;
use garland_sys::sync::Mutex;
use garland_sys::threads::Slots;

/// What the owner of a key may use, which all of its sessions share.
#[derive(Clone, Debug)]
pub struct KeyShare {
    /// A slot for each thread.
    pub threads: Arc<Slots>,
    /// A slot for each open file or directory of its mounts.
    pub open_files: Arc<Slots>,
}

/// The shares of each key that has sessions, or threads that hang on a disk.
#[derive(Debug, Default)]
pub struct KeyShares(Mutex<HashMap<PublicKey, WeakShare>>);

/// A share that ends with the last session or thread that uses it.
#[derive(Debug)]
struct WeakShare {
    threads: Weak<Slots>,
    open_files: Weak<Slots>,
}

impl KeyShares {
    /// Returns the share of the owner of `key`.
    pub fn of_key(&self, key: PublicKey, grant: &Grant) -> KeyShare {
        let mut all = self.0.lock();
        all.retain(|_, share| share.threads.strong_count() + share.open_files.strong_count() > 0);
        let known = all.get(&key);
        let slots = |known: Option<&Weak<Slots>>, count| {
            known.and_then(Weak::upgrade).unwrap_or_else(|| Slots::new(count))
        };
        let budget = grant.role.budget();
        let threads = slots(known.map(|share| &share.threads), budget.threads);
        let open_files = slots(known.map(|share| &share.open_files), budget.open_files);
        let weak = WeakShare {
            threads: Arc::downgrade(&threads),
            open_files: Arc::downgrade(&open_files),
        };
        all.insert(key, weak);
        KeyShare { threads, open_files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_no_more_threads_by_ending_its_sessions_while_threads_hang() {
        let shares = KeyShares::default();
        let grant = Grant::member("n1", false);
        let threads = |key| shares.of_key([key; 32], &grant).threads;
        let first = threads(1);
        let hanging: Vec<_> = std::iter::from_fn(|| first.take()).collect();
        assert_eq!(hanging.len(), grant.role.budget().threads);
        drop(first);
        assert!(threads(1).take().is_none());
        assert!(threads(2).take().is_some(), "another key");
        drop(hanging);
        assert!(threads(1).take().is_some());
    }
}
