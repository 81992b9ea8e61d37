//! Runs other programs in a lab. They use the files of the nodes through a mount.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use garland_core::printable;
use garland_sys::identity::{self, Signal};
use garland_sys::{clock, process, signal};
use garland_terminal::failure::{Failure, OrFailure};

use super::ScenarioLab;

/// The timeout of mounting, in nanoseconds.
const PATIENCE_NS: u64 = 20_000_000_000;
/// The interval at which the mount is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A mount at the lab's head; dropping it unmounts.
struct Mounted {
    process: Child,
}

impl ScenarioLab<'_> {
    /// Mounts the files of `nodes` at the head of the lab, calls `work` with the mount point, and
    /// unmounts them.
    pub fn mounted<T>(
        &self,
        nodes: &str,
        work: impl FnOnce(&Path) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let dir = self.files.join("mount");
        std::fs::create_dir_all(&dir)
            .or_nothing(format!("cannot create {}", printable::path(&dir)))?;
        let device = |dir: &PathBuf| std::fs::metadata(dir).map(|there| there.dev()).ok();
        let before = device(&dir);
        let words = ["mount", "--foreground", &dir.to_string_lossy(), nodes].map(str::to_owned);
        let mut mounted =
            Mounted { process: self.start(&words).or_nothing("cannot start garland mount")? };
        let deadline_ns = clock::now_ns() + PATIENCE_NS;
        while device(&dir) == before {
            self.go_on()?;
            let ended = mounted.process.try_wait().or_nothing("cannot wait for garland mount")?;
            if let Some(status) = ended {
                return Err(Failure::nothing(format!("garland mount failed: {status}")));
            }
            if clock::now_ns() > deadline_ns {
                return Err(Failure::nothing(format!(
                    "timed out after 20 s waiting for the mount on {}",
                    printable::path(&dir)
                )));
            }
            garland_sys::threads::sleep(POLL_INTERVAL);
        }
        work(&dir)
    }

    /// Runs the system's program `program`. Returns the nanoseconds that it took. Any exit code but
    /// 0 is an error.
    pub fn system(&self, program: &str, arguments: &[&Path]) -> Result<u64, Failure> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        signal::release_in(&mut command);
        process::end_with_parent(&mut command);
        let started = clock::now_ns();
        let child = command.spawn().or_nothing(format!("cannot start {program}"))?;
        let ended = self.wait(vec![child], false).pop();
        let whole = clock::now_ns() - started;
        let ended = ended.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()));
        let ended = ended.or_nothing(format!("cannot wait for {program}"))?;
        if !ended.status.success() {
            self.go_on()?;
            return Err(Failure::nothing(format!("{program} failed: {}", ended.status)));
        }
        Ok(whole)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = identity::signal(self.process.id(), Signal::TERM);
        let _ = self.process.wait();
    }
}
