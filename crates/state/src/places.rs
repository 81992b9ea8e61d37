//! The state directory. It has mode 0700 and a subdirectory for each host, since several hosts may
//! share a home directory. Owner and mode are checked when the directory is opened.

mod key_lock;
mod rotation;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_dataplane::block_index::Records;
use garland_protocol::wire::{KeyPair, Secret};
use garland_sys::error::reason;
use garland_sys::{private_file, process};
use garland_terminal::failure::{Failure, OrFailure};
use serde::de::DeserializeOwned;

pub use key_lock::KeyLease;
pub use rotation::Rotation;

/// The state directory of this host.
#[derive(Clone, Debug)]
pub struct Places {
    state: PathBuf,
}

/// The file of the key pair of this user's commands.
const CONTROLLER: &str = "controller.key";

impl Places {
    /// Opens the state directory of this host below `$GARLAND_STATE`, or else below
    /// `$XDG_STATE_HOME/garland`, or else below `~/.local/state/garland`.
    pub fn open() -> Result<Self, Failure> {
        let var =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = var("GARLAND_STATE")
            .or_else(|| Some(var("XDG_STATE_HOME")?.join("garland")))
            .or_else(|| Some(var("HOME")?.join(".local/state/garland")));
        let base = base.ok_or_else(|| {
            Failure::usage("the state directory is unknown: neither HOME nor GARLAND_STATE is set")
                .hint(elsewhere())
        })?;
        Self::at(&std::path::absolute(&base).unwrap_or(base))
    }

    /// Opens the state directory of this host below `base`; both directories are created if
    /// missing. Both must belong to this user and must not be writable by others. The host's
    /// directory must not be readable by others either.
    pub fn at(base: &Path) -> Result<Self, Failure> {
        own_folder(base, 0o022)?;
        let state = base.join(process::host_name().replace('/', "_"));
        own_folder(&state, 0o077)?;
        Ok(Self { state })
    }

    /// Returns the state directory of all hosts.
    #[must_use]
    pub fn base(&self) -> &Path {
        self.state.parent().unwrap_or(&self.state)
    }

    /// Returns the path of a subdirectory of the state directory; created if missing.
    pub fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.state.join(name);
        own_folder(&path, 0o077)?;
        Ok(path)
    }

    /// Returns the records about files that were read or written on this machine. If their
    /// directory cannot be used, they are empty and nothing is recorded.
    pub fn records(&self) -> Records {
        self.folder("known").map_or_else(|_| Records::default(), Records::at)
    }

    /// Reads the records of processes that run on this host, with their files, from a subdirectory
    /// of the state directory. A record that cannot be read is named on standard error, and left
    /// out: it may be one that a failure of the power has left.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn read_records<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Vec<(PathBuf, T)>, Failure> {
        let folder = self.folder(name)?;
        let reading = || format!("cannot read {}", printable::path(&folder));
        let mut records = Vec::new();
        for entry in fs::read_dir(&folder).or_nothing(reading())? {
            let path = entry.or_nothing(reading())?.path();
            // Others were left by a command that was killed.
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match read_record(&path) {
                Ok(record) => records.extend(record.map(|record| (path, record))),
                Err(why) => {
                    let shown = printable::path(&path);
                    let what = format!("if its process has ended: rm {}", printable::word(&path));
                    garland_terminal::errln!("cannot read the record {shown}: {why}; {what}");
                }
            }
        }
        Ok(records)
    }

    /// Returns the file of the cluster's key, which a standing agent of this machine keeps.
    #[must_use]
    pub fn cluster_key(&self) -> PathBuf {
        self.state.join("cluster.key")
    }

    /// Returns the file with the nodes that did not reach each other lately.
    pub(crate) fn unreached(&self) -> PathBuf {
        self.state.join("unreached.json")
    }

    /// Returns the file that says why the last copy failed that has no result.
    pub(crate) fn failed_copy(&self) -> PathBuf {
        self.state.join("failed-copy.json")
    }

    /// Returns the key pair by which this user's commands authenticate to agents; generated at
    /// first use.
    ///
    /// # Errors
    /// When the file of the key pair is there and cannot be used, or cannot be created.
    pub fn controller_keys(&self) -> Result<KeyPair, Failure> {
        let shown = printable::word(self.state.join(CONTROLLER));
        self.keys(
            CONTROLLER,
            &[
                "standing agents obey only the key in this file, so it is never replaced: restore it from a backup, with mode 0600".to_owned(),
                format!("without a backup, `mv {shown} {shown}.old` lets the next command make a new key; agents of the old one then end when they are idle, and names have to be published again"),
            ],
        )
    }

    /// Reads a key pair, or generates it if there is no file. A file that is there is never
    /// replaced: agents know its key. `hints` say what to do if it cannot be used.
    fn keys(&self, name: &str, hints: &[String]) -> Result<KeyPair, Failure> {
        let path = self.state.join(name);
        let shown = printable::path(&path);
        let hinted =
            |failure| hints.iter().fold(failure, |failure: Failure, hint| failure.hint(hint));
        let read = || {
            let content = private_file::read(&path, KEYS_LENGTH as u64);
            content.or_nothing(format!("cannot read {shown}")).map_err(hinted)
        };
        let bytes = match read()? {
            Some(bytes) => bytes,
            None => {
                private_file::create(&path, &bytes_of(&KeyPair::generate()))
                    .or_nothing(format!("cannot write {shown}"))?;
                // Another process may have been first: all use the pair in the file.
                let removed = || Failure::nothing(format!("cannot read {shown}: it was removed"));
                read()?.ok_or_else(removed)?
            }
        };
        parse_keys(&bytes)
            .map_err(|why| hinted(Failure::nothing(format!("cannot read {shown}: {why}"))))
    }
}

/// The maximum length of a record of a process that runs in bytes.
const RECORD_MAX: u64 = 64 << 20;

/// Reads a record; none if its process has just removed it.
fn read_record<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    let text = private_file::read(path, RECORD_MAX).map_err(|error| reason(&error))?;
    let parse = |text: Vec<u8>| serde_json::from_slice(&text).map_err(|error| error.to_string());
    text.map(parse).transpose()
}

/// The length of the file of a key pair in bytes: the private key, then the public one.
const KEYS_LENGTH: usize = 64;

/// Returns the key pair in a file of it.
///
/// # Errors
/// When the file is damaged; says how.
fn parse_keys(bytes: &[u8]) -> Result<KeyPair, String> {
    let halves = bytes.split_first_chunk::<32>().filter(|_| bytes.len() == KEYS_LENGTH);
    let Some((private, public)) = halves else {
        return Err(format!("it has {} bytes, not {KEYS_LENGTH}", bytes.len()));
    };
    let keys = KeyPair::from_private(Secret(*private));
    // After a failure of the power, some file systems have zeros in place of what was written.
    match keys.public == *public {
        true => Ok(keys),
        false => Err("it is damaged: its public key is not that of its private key".to_owned()),
    }
}

/// Returns the bytes of the file of a key pair, which [`parse_keys`] reads.
fn bytes_of(keys: &KeyPair) -> Vec<u8> {
    [keys.private.0, keys.public].concat()
}

/// Returns what to do if the state directory cannot be used.
fn elsewhere() -> String {
    let user = process::user_id();
    format!("have the state elsewhere: export GARLAND_STATE=/var/tmp/garland-{user}")
}

/// Creates the directory `path` if missing. Checks that it belongs to this user and that its mode
/// has no bit of `forbidden`.
fn own_folder(path: &Path, forbidden: u32) -> Result<(), Failure> {
    let shown = printable::path(path);
    let unusable = |failure: Failure| failure.hint(elsewhere());
    let created = private_file::create_folder(path);
    created.or_nothing(format!("cannot create the state directory {shown}")).map_err(unusable)?;
    let stat = fs::symlink_metadata(path).or_nothing(format!("cannot stat {shown}"))?;
    if !stat.is_dir() {
        let what = format!("the state directory {shown} is a symbolic link, which is not followed");
        return Err(unusable(Failure::usage(what)));
    }
    if stat.uid() != process::user_id() {
        let what = format!("the state directory {shown} belongs to another user");
        return Err(unusable(Failure::usage(what)));
    }
    if stat.mode() & forbidden != 0 {
        let mode = stat.mode() & 0o7777;
        let may = if stat.mode() & 0o022 == 0 { "read" } else { "write to" };
        return Err(Failure::usage(format!(
            "other users may {may} the state directory {shown}: it has mode {mode:04o}"
        ))
        .hint(format!(
            "check that its files are yours, then run: chmod go-rwx {}",
            printable::word(path)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is this user's");
    }

    /// A new state directory, which is removed at the end of a test.
    struct Scratch {
        base: PathBuf,
        places: Places,
    }

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("garland-places-{name}-{}", std::process::id());
            let base = std::env::temp_dir().join(name);
            let places = Places::at(&base).expect("a new directory is private");
            Self { base, places }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.base);
        }
    }

    #[test]
    fn a_state_directory_that_cannot_be_used_is_told_with_the_variable_that_helps() {
        let scratch = Scratch::new("unusable");
        let refused = |path: &Path| {
            let failure = Places::at(path).expect_err("it cannot be used").to_string();
            assert!(failure.contains("the state directory"), "{failure}");
            failure
        };
        let file = scratch.base.join("file");
        fs::write(&file, b"").expect("it can be written");
        let link = scratch.base.join("link");
        std::os::unix::fs::symlink(&scratch.base, &link).expect("a link");
        for path in [&file, &file.join("below"), &link, Path::new("/proc/none")] {
            let hint = refused(path);
            assert!(hint.contains("export GARLAND_STATE=/var/tmp/garland-"), "{hint}");
        }
    }

    #[test]
    fn a_key_that_cannot_be_read_is_neither_replaced_nor_used() {
        let scratch = Scratch::new("keys");
        let places = &scratch.places;
        let path = places.state.join(CONTROLLER);
        let whole = [KeyPair::generate().private.0, [7; 32]].concat();
        for (bytes, why) in [
            (&[][..], "it has 0 bytes, not 64"),
            (&whole[..63], "it has 63 bytes, not 64"),
            (&[0; 65], "it is longer than 64 bytes"),
            (&[0; 64], "its public key is not that of its private key"),
            (&whole, "its public key is not that of its private key"),
        ] {
            fs::write(&path, bytes).expect("it is this user's");
            set_mode(&path, 0o600);
            let failure = places.controller_keys().map(|keys| keys.public);
            let failure = failure.expect_err("it is damaged").to_string();
            assert!(failure.contains(why), "{failure}");
            assert!(failure.contains("mv ") && failure.contains(CONTROLLER), "{failure}");
            assert_eq!(fs::read(&path).expect("it stays"), bytes);
        }
        fs::remove_file(&path).expect("it is this user's");
        let keys = places.controller_keys().expect("it is made");
        set_mode(&path, 0o640);
        let failure = places.controller_keys().map(|keys| keys.public).expect_err("others read it");
        assert!(failure.message().contains("0640"), "{failure}");
        set_mode(&path, 0o600);
        assert_eq!(places.controller_keys().expect("it is as before").public, keys.public);
        // What cannot be read at all, as on a disk with errors.
        fs::remove_file(&path).expect("it is this user's");
        fs::create_dir(&path).expect("it is this user's");
        assert!(places.controller_keys().is_err() && path.is_dir());
    }

    #[test]
    fn first_commands_at_once_end_with_one_and_the_same_key() {
        const COMMANDS: usize = 8;
        for round in 0..50 {
            let scratch = Scratch::new(&format!("first-{round}"));
            let barrier = std::sync::Barrier::new(COMMANDS);
            let first = || {
                barrier.wait();
                scratch.places.controller_keys().expect("it is made").public
            };
            let keys: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..COMMANDS).map(|_| scope.spawn(first)).collect();
                threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
            });
            let kept = scratch.places.controller_keys().expect("the keys were saved").public;
            assert!(keys.iter().all(|key| *key == kept), "round {round}");
        }
    }

    #[test]
    fn a_state_folder_is_refused_that_others_may_write_to() {
        let base = std::env::temp_dir().join(format!("garland-places-{}", std::process::id()));
        let places = Places::at(&base).expect("a new directory is private");
        let host = base.join(process::host_name().replace('/', "_"));
        let runs = places.folder("runs").expect("a new directory is private");
        for (path, mode) in [(&base, 0o770), (&base, 0o1777), (&base, 0o702), (&host, 0o720)] {
            set_mode(path, mode);
            let refused = Places::at(&base).map(drop).expect_err("others may write to it");
            assert!(refused.to_string().contains(&format!("{mode:04o}")), "{refused}");
            assert!(refused.to_string().contains(&*path.to_string_lossy()), "{refused}");
            set_mode(path, 0o700);
        }
        // Subdirectories must be private; the base directory may be readable by others.
        set_mode(&base, 0o755);
        set_mode(&runs, 0o750);
        let refused = Places::at(&base).expect("nobody else writes").folder("runs").map(drop);
        assert!(refused.expect_err("others read it").to_string().contains("0750"));
        fs::remove_dir_all(&base).expect("it was made above");
    }
}
