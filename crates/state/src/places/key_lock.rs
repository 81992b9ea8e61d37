//! The lock of the controller's key. Whoever starts agents shares it from reading the key until the
//! agents' records are kept. A replacement of the key has it alone, and so finds a record of each
//! agent that obeys the old key.
//!
//! On file systems without locks (see [`lock`]) nobody waits, and agents that are started beside a
//! replacement may obey the old key.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use garland_core::printable;
use garland_protocol::wire::KeyPair;
use garland_sys::lock::{self, Lock};
use garland_sys::{clock, private_file, process_table, threads};
use garland_terminal::failure::{Failure, OrFailure};

use super::Places;

/// The file that is locked.
const LOCK: &str = "controller.key.lock";

/// The time after which the user is told for whom a command waits.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// The interval at which the lock is tried.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The maximum length of a command line in a message, in characters.
const COMMAND_MAX: usize = 80;

/// The controller's key pair, which is not replaced until this is dropped.
pub struct KeyLease {
    /// The key pair.
    pub keys: KeyPair,
    _lock: File,
}

impl Places {
    /// Returns the controller's key pair as [`controller_keys`](Self::controller_keys) does, and
    /// keeps others from replacing it. Waits for the end of a replacement.
    ///
    /// # Errors
    /// When the file of the key pair cannot be used or created, or `is_cancelled` returns true
    /// while this waits.
    pub fn lease_controller_keys(
        &self,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<KeyLease, Failure> {
        let waiting = "to read the key of this user's commands";
        let try_lock = |file: &File| lock::try_lock_shared(file);
        let lock = self.lock_keys(try_lock, waiting, |_| match is_cancelled() {
            true => Err(Failure::interrupted("waiting for the end of a key rotation")),
            false => Ok(()),
        })?;
        Ok(KeyLease { keys: self.controller_keys()?, _lock: lock })
    }

    /// Waits until no other process starts agents by the controller's key, and keeps others from
    /// doing so until the file is dropped.
    ///
    /// # Errors
    /// When another process replaces the key, or the file cannot be locked.
    pub(super) fn lock_keys_alone(&self) -> Result<File, Failure> {
        self.lock_keys(
            |file| lock::try_lock(file),
            "to replace the key",
            |file| {
                // Another replacement shares the lock with nobody.
                match lock::try_lock_shared(file).and_then(|_| lock::unlock(file)) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => Err(Failure::nothing(
                        "cannot replace the key: another process does so at present",
                    )),
                    other => other.map(drop).or_nothing("cannot lock the key"),
                }
            },
        )
    }

    /// Opens the lock's file, and tries `try_lock` until it succeeds. After each failure `go_on`
    /// says whether to wait. `purpose` completes the message for the user.
    fn lock_keys(
        &self,
        try_lock: impl Fn(&File) -> io::Result<Lock>,
        purpose: &str,
        go_on: impl Fn(&File) -> Result<(), Failure>,
    ) -> Result<File, Failure> {
        let path = self.key_lock();
        let file = private_file::open_to_lock(&path);
        let file = file.or_nothing(format!("cannot open {}", printable::path(&path)))?;
        let silent_until_ns = clock::after(SILENCE_MAX);
        let mut is_told = false;
        loop {
            match try_lock(&file) {
                Ok(_) => return Ok(file),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => {
                    return Err(error)
                        .or_nothing(format!("cannot lock {}", printable::path(&path)));
                }
            }
            go_on(&file)?;
            if !is_told && clock::until(silent_until_ns).is_zero() {
                is_told = true;
                garland_terminal::errln!("waiting {purpose} for {}", holders(&file));
            }
            threads::sleep(RETRY_INTERVAL);
        }
    }

    fn key_lock(&self) -> PathBuf {
        self.state.join(LOCK)
    }
}

/// Names the commands that hold the lock.
fn holders(file: &File) -> String {
    // Other users cannot open the file, but lock one with its number on another device.
    let named = lock::holders(file).into_iter().filter_map(|pid| {
        let command: String = process_table::command_line(pid)?.chars().take(COMMAND_MAX).collect();
        Some(format!("process {pid} ({command})"))
    });
    let named: Vec<String> = named.collect();
    match named.is_empty() {
        // The kernel does not tell those of other PID namespaces.
        true => "another command".to_owned(),
        false => named.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};

    use super::*;

    #[test]
    fn a_replacement_waits_for_leases_and_new_leases_wait_for_it() {
        let base = std::env::temp_dir().join(format!("garland-lease-{}", std::process::id()));
        let places = Places::at(&base).expect("a new directory");
        let never = || false;
        let first = places.lease_controller_keys(never).expect("made");
        let second = places.lease_controller_keys(never).expect("shared");
        let (tell, rotated) = channel();
        std::thread::scope(|scope| {
            let rotate = || {
                let rotation = places.rotate_controller_keys().expect("files").expect("a key");
                tell.send(rotation.new.public).expect("it is awaited");
                rotation
            };
            let rotating = scope.spawn(rotate);
            drop(first);
            // However long it is looked at, the key is that of the lease.
            let waited = rotated.recv_timeout(Duration::from_millis(200));
            assert_eq!(waited, Err(RecvTimeoutError::Timeout));
            assert_eq!(places.controller_keys().expect("kept").public, second.keys.public);
            drop(second);
            let rotation = rotating.join().expect("it ends");
            let refused = places.lease_controller_keys(|| true).map(drop);
            assert!(refused.expect_err("it is replaced").message().contains("rotation"));
            let new = rotation.new.public;
            drop(rotation);
            assert_eq!(places.lease_controller_keys(never).expect("free").keys.public, new);
        });
        std::fs::remove_dir_all(&base).expect("it was made above");
    }
}
