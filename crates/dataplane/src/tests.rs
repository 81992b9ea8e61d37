//! Fixtures for the tests of this crate.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_protocol::copy::CopyId;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::recorder::{Budget, Collector};

/// A directory for one test. Dropping it removes it.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates a directory for the test `name`, which must be unique in this crate.
    pub fn new(name: &str) -> Self {
        Self::new_in(&std::env::temp_dir(), name)
    }

    /// Creates a directory for the test `name` in `folder`.
    pub fn new_in(folder: &Path, name: &str) -> Self {
        let path = folder.join(format!("garland-dataplane-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for Scratch {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a trace that records nothing.
pub fn untraced() -> Arc<Collector> {
    Collector::new(Budget::NOTHING, CopyId([0; 16]), 1, 0, None)
}

/// Runs `check` in a thread that may do only what the modes of files allow their owner, also if
/// root runs the tests.
pub fn without_rights_of_root(check: impl FnOnce() + Send) {
    let in_thread = || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();
        check();
    };
    std::thread::scope(|scope| scope.spawn(in_thread).join().unwrap());
}
