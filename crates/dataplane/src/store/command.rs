//! The standard input of a command as a destination. It is a stream: blocks are written in order
//! and cannot be withdrawn.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use garland_core::trace::Stage;
use garland_sys::error::reason;

use super::outflow::Outflow;
use super::{Store, StoreError};
use crate::recorder::Collector;
use crate::shell::{Shell, Watcher};

/// Writes blocks to the standard input of a command. The exit code of the command shows whether it
/// succeeded.
pub struct CommandStore {
    input: Outflow,
    shell: Shell,
}

impl CommandStore {
    /// Starts the command `line` in `folder`; by default in the agent's working directory.
    pub fn start(line: &[u8], folder: Option<&Path>) -> Result<Self, StoreError> {
        let failed = |error: io::Error| {
            StoreError::Failed(format!("cannot start a shell: {}", reason(&error)))
        };
        let (shell, input) = Shell::reading(line, folder).map_err(failed)?;
        let input = Outflow::into(OwnedFd::from(input)).map_err(failed)?;
        Ok(Self { input, shell })
    }
}

impl Store for CommandStore {
    /// Does not fail if the command stops reading before the end, as in a shell's pipe: only its
    /// exit code counts.
    fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        self.input.write_all(bytes)
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        trace.time(Stage::Commit, || {
            self.input.close();
            self.shell.release();
            self.shell.wait().map_err(StoreError::Failed)
        })
    }

    fn abandon(&self) {
        self.stop();
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("`{}`", self.shell.line())
    }

    fn watch(&self, watcher: Watcher) {
        self.shell.watch(watcher);
    }

    fn stop(&self) {
        // Kill the command before its input is closed, which it could take for the end of the
        // bytes.
        self.shell.kill();
        self.input.stop();
    }
}
