//! The names that an agent keeps, on disk only: for each an entry and a manifest. In memory is what an order
//! needs, so that 10,000 names cost an agent nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use garland_protocol::{NAME_MANIFEST_MAX, NameEntry, NameHolder, content_digest};
use garland_sys::clock;
use garland_sys::sync::Mutex;

/// The end of the file names of manifests.
const MANIFEST: &str = "manifest";

/// The maximum number of names that are kept.
const NAMES_MAX: usize = 10_000;

/// The maximum length of the file of an entry in bytes.
const ENTRY_MAX: u64 = 128 << 10;

/// How long the record of an ended name is kept, in nanoseconds, so that it is not taken for a valid one from an
/// agent that was away: 30 days.
const ENDED_KEPT_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;

/// The directory of the names that an agent keeps.
#[derive(Clone, Debug)]
pub struct NameStore(PathBuf);

impl NameStore {
    /// Opens the directory `path`, which is created when a name is kept.
    pub fn open(path: PathBuf) -> Self {
        Self(path)
    }

    /// Calls `each` with the entry of `name`, or with all entries, in no order. Damaged ones are left out, and
    /// those of names that ended long ago are removed.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn find(&self, name: Option<&str>, mut each: impl FnMut(NameEntry)) -> io::Result<()> {
        if let Some(name) = name {
            self.find_one(name).into_iter().for_each(each);
            return Ok(());
        }
        let files = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            files => files?,
        };
        for file in files {
            let path = file?.path();
            // A file with an extension is a manifest, or was left by an agent that was killed.
            if path.extension().is_some() {
                continue;
            }
            let Some(entry) = read(&path) else { continue };
            let is_old = clock::wall_ns().saturating_sub(entry.record.number()) > ENDED_KEPT_NS;
            if entry.record.content().is_none() && is_old {
                // It is tried again the next time.
                let _ = fs::remove_file(&path);
            } else {
                each(entry);
            }
        }
        Ok(())
    }

    /// Returns the manifest of `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn manifest(&self, name: &str) -> io::Result<Vec<u8>> {
        let (file, mut bytes) = (File::open(self.path(name).with_extension(MANIFEST))?, Vec::new());
        file.take(NAME_MANIFEST_MAX as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Keeps an entry, unless a newer one is here. `manifest` is what was sent before it.
    ///
    /// # Errors
    /// When the manifest of the entry is not here, there are too many names, or files cannot be written.
    pub fn keep(&self, entry: &NameEntry, manifest: &[u8]) -> Result<(), String> {
        entry.check()?;
        let told = |error: io::Error| format!("cannot write below {}: {error}", self.0.display());
        let name = entry.record.name();
        let (path, old) = (self.path(name), self.find_one(name));
        if old.as_ref().is_some_and(|old| old.record.number() > entry.record.number()) {
            return Ok(());
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(told)?;
        let beside = path.with_extension(MANIFEST);
        match entry.record.content() {
            Some(content) if content_digest(manifest) == content.root => {
                if old.is_none() && self.count() >= NAMES_MAX {
                    return Err(format!("it keeps {NAMES_MAX} names already"));
                }
                write(&beside, manifest).map_err(told)?;
            }
            Some(content) => {
                let has = self.manifest(name).is_ok_and(|it| content_digest(&it) == content.root);
                if !has {
                    return Err(format!("the manifest of {name} did not arrive"));
                }
            }
            // The record stays, and says that the name has ended.
            None => drop(fs::remove_file(beside)),
        }
        write(&path, &entry.to_bytes()).map_err(told)
    }

    /// Adds a holder of the content with the manifest `root` to the entry of `name`, if it has this content.
    ///
    /// # Errors
    /// When the holder has no usual name or path, or the entry cannot be written.
    pub fn hold(&self, name: &str, root: [u8; 32], holder: NameHolder) -> Result<(), String> {
        static CHANGING: Mutex<()> = Mutex::new(());
        holder.check()?;
        let _changing = CHANGING.lock();
        let Some(mut entry) = self.find_one(name) else { return Ok(()) };
        let has_content = entry.record.content().is_some_and(|content| content.root == root);
        if !has_content || entry.holders.contains(&holder) {
            return Ok(());
        }
        entry.add(holder);
        self.keep(&entry, &[])
    }

    /// Returns the entry of `name`.
    pub fn find_one(&self, name: &str) -> Option<NameEntry> {
        read(&self.path(name)).filter(|entry| entry.record.name() == name)
    }

    fn count(&self) -> usize {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_none()).count()
    }

    /// Returns the path of the entry of `name`: names may have slashes.
    fn path(&self, name: &str) -> PathBuf {
        let digest = content_digest(name.as_bytes());
        self.0.join(digest[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }
}

fn read(path: &Path) -> Option<NameEntry> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(ENTRY_MAX).read_to_end(&mut bytes).ok()?;
    NameEntry::parse(&bytes)
}

/// Writes a file with mode 0600 under a temporary name, and renames it when it is on stable storage.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("tmp{}-{number}", std::process::id()));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let written = written.and_then(|()| fs::rename(&temporary, path));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

#[cfg(test)]
mod tests;
