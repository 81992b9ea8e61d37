//! The controller's key pair, read without making one, and its replacement by another one.
//!
//! A replacement that was interrupted at any moment goes on when it is begun again: the new key
//! pair is stable before the old one gets its other name, by which all later steps are recognised,
//! and the old one stays until the caller has ended the agents that obey it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_protocol::wire::KeyPair;
use garland_sys::private_file;
use garland_terminal::failure::{Failure, OrFailure};

use super::{CONTROLLER as CURRENT, KEYS_LENGTH, Places, bytes_of, parse_keys};

/// The file of the key pair before it, while agents may obey it.
const OLD: &str = "controller.key.old";

/// The file of the next key pair, before it is the current one.
const NEXT: &str = "controller.key.next";

/// A replacement of the controller's key pair. Dropping this leaves it unfinished.
pub struct Rotation {
    /// The key pair that is replaced, and that agents may obey.
    pub old: KeyPair,
    /// The key pair of all commands from now on.
    pub new: KeyPair,
    /// Whether an earlier replacement goes on.
    pub is_continued: bool,
    /// Locked until this is dropped.
    _lock: File,
}

impl Places {
    /// Returns the key pair by which this user's commands authenticate to agents; `None` if no
    /// command has made one yet.
    ///
    /// # Errors
    /// When it cannot be read, or the file is damaged.
    pub fn existing_controller_keys(&self) -> Result<Option<KeyPair>, Failure> {
        read(&self.state.join(CURRENT))
    }

    /// Returns the path of the file of the controller's key pair.
    #[must_use]
    pub fn controller_key_path(&self) -> PathBuf {
        self.state.join(CURRENT)
    }

    /// Replaces the controller's key pair, or goes on with a replacement that has not been
    /// finished; `None` if there is no key pair to replace. Waits for commands that start agents by
    /// the key.
    ///
    /// # Errors
    /// When another process does so at present, or a file cannot be read or written.
    pub fn rotate_controller_keys(&self) -> Result<Option<Rotation>, Failure> {
        let path = |name: &str| self.state.join(name);
        let lock = self.lock_keys_alone()?;
        let Some(current) = read(&path(CURRENT))? else { return Ok(None) };
        let rotation =
            |old, new, is_continued| Some(Rotation { old, new, is_continued, _lock: lock });
        let old = read(&path(OLD))?;
        let was_begun = old.is_some();
        if let Some(old) = old.filter(|old| old.public != current.public) {
            return Ok(rotation(old, current, true));
        }
        // A process that was killed here may have left a part of it.
        let new = match read(&path(NEXT)) {
            Ok(Some(next)) if was_begun => next,
            _ => write_next(&path(NEXT)).or_nothing("cannot write a new key")?,
        };
        if !was_begun {
            let kept = private_file::create(&path(OLD), &bytes_of(&current));
            kept.or_nothing(format!("cannot keep the old key as {}", printable::path(path(OLD))))?;
        }
        let renamed = private_file::rename(&path(NEXT), &path(CURRENT));
        renamed.or_nothing(format!("cannot replace {}", printable::path(path(CURRENT))))?;
        Ok(rotation(current, new, was_begun))
    }

    /// Removes the old key pair of `rotation`: no agent obeys it any more.
    ///
    /// # Errors
    /// When its file cannot be removed.
    pub fn finish_rotation(&self, rotation: Rotation) -> Result<(), Failure> {
        let path = self.state.join(OLD);
        let removed = private_file::remove(&path);
        removed.or_nothing(format!("cannot remove {}", printable::path(&path)))?;
        drop(rotation);
        Ok(())
    }
}

/// Reads a key pair; `None` if there is no such file. Any other error is one, so that no key pair
/// is replaced that only could not be read.
fn read(path: &Path) -> Result<Option<KeyPair>, Failure> {
    let shown = printable::path(path);
    let bytes = private_file::read(path, KEYS_LENGTH as u64);
    let Some(bytes) = bytes.or_nothing(format!("cannot read {shown}"))? else { return Ok(None) };
    let damaged = |why| {
        Failure::nothing(format!("cannot use {shown}: {why}"))
            .hint("restore it from a backup: the agents obey the key that was in it")
    };
    parse_keys(&bytes).map(Some).map_err(damaged)
}

/// Writes a new key pair to `path`, stably.
fn write_next(path: &Path) -> io::Result<KeyPair> {
    let keys = KeyPair::generate();
    private_file::replace(path, &bytes_of(&keys))?;
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A state directory, removed at the end.
    struct State(PathBuf, Places);

    impl State {
        fn new(name: &str) -> Self {
            let base = std::env::temp_dir().join(format!("garland-{name}-{}", std::process::id()));
            let places = Places::at(&base).expect("a new directory");
            Self(base, places)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.1.state.join(name)
        }

        fn rotate(&self) -> Rotation {
            self.1.rotate_controller_keys().expect("files").expect("a key")
        }
    }

    impl Drop for State {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_rotation_goes_on_after_each_step_at_which_it_was_killed() {
        let state = State::new("rotation");
        let first = state.1.controller_keys().expect("made");
        // Before the old key has its other name: a next one, whole or in part, was never used.
        fs::write(state.path(NEXT), b"half").expect("written");
        let rotation = state.rotate();
        assert!(!rotation.is_continued && rotation.old.public == first.public);
        assert!(rotation.new.public != first.public);
        let second = rotation.new.public;
        drop(rotation);
        // After all of it, but for the agents.
        let again = state.rotate();
        assert!(again.is_continued);
        assert_eq!((again.old.public, again.new.public), (first.public, second));
        state.1.finish_rotation(again).expect("removed");
        assert!(!state.path(OLD).exists() && !state.path(NEXT).exists());
        // Between the two names.
        fs::hard_link(state.path(CURRENT), state.path(OLD)).expect("linked");
        let next = write_next(&state.path(NEXT)).expect("written");
        let rotation = state.rotate();
        assert!(rotation.is_continued);
        assert_eq!((rotation.old.public, rotation.new.public), (second, next.public));
        let keys = state.1.existing_controller_keys().expect("read").expect("there");
        assert_eq!(keys.public, next.public);
    }

    #[test]
    fn two_rotations_at_once_are_refused_and_no_key_is_no_rotation() {
        let state = State::new("rotations");
        assert!(state.1.rotate_controller_keys().expect("nothing to read").is_none());
        assert!(state.1.existing_controller_keys().expect("nothing to read").is_none());
        state.1.controller_keys().expect("made");
        let rotation = state.rotate();
        let other = state.1.rotate_controller_keys().map(drop).expect_err("it is locked");
        assert!(other.to_string().contains("another process"), "{other}");
        drop(rotation);
        assert!(state.rotate().is_continued);
    }

    #[test]
    fn a_damaged_key_is_neither_used_nor_replaced() {
        let state = State::new("damaged");
        private_file::replace(&state.path(CURRENT), b"").expect("written");
        let refused = state.1.rotate_controller_keys().map(drop).expect_err("it is damaged");
        assert!(refused.to_string().contains("it has 0 bytes"), "{refused}");
        assert!(state.1.existing_controller_keys().is_err());
        assert_eq!(fs::read(state.path(CURRENT)).expect("the file exists"), b"");
    }
}
