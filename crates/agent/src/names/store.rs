//! The names that an agent keeps, on disk only: for each an entry and a manifest. In memory is what an order
//! needs, so that 10,000 names cost an agent nothing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use garland_protocol::{
    NAME_MANIFEST_MAX, NAMES_MAX, NAMES_MEMORY_MAX, NameEntry, NameHolder, NameRecord,
    RECORD_AHEAD_MAX_NS, RecordKey, content_digest,
};
use garland_sys::sync::{Mutex, MutexGuard};
use garland_sys::{lock, private_file};

/// The end of the file names of manifests.
const MANIFEST: &str = "manifest";

/// The maximum length of the file of an entry in bytes.
const ENTRY_MAX: u64 = 128 << 10;

/// How long the record of an ended name is kept at least, in nanoseconds, so that an agent that was away does not
/// bring the name back: a year. It is kept longer, unless its place is needed for another name.
const ENDED_KEPT_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// The maximum number of bytes of memory of all holders of a list in the head. Its records take less than the rest.
const HOLDERS_MEMORY_MAX: usize = NAMES_MEMORY_MAX / 2;

/// The directory of the names that an agent keeps.
#[derive(Clone, Debug)]
pub struct NameStore(PathBuf);

impl NameStore {
    /// Opens the directory `path`, which is created when a name is kept.
    pub fn open(path: PathBuf) -> Self {
        Self(path)
    }

    /// Calls `each` with the entry of `name`, or with all entries, in no order. Damaged ones are left out, and
    /// holders that the head has no room for.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn find(&self, name: Option<&str>, mut each: impl FnMut(NameEntry)) -> io::Result<()> {
        if let Some(name) = name {
            self.find_one(name).into_iter().for_each(each);
            return Ok(());
        }
        let mut room = HOLDERS_MEMORY_MAX;
        for mut entry in self.all()?.take(NAMES_MAX) {
            room -= entry.cut(room);
            each(entry);
        }
        Ok(())
    }

    /// Returns all entries that are not damaged.
    fn all(&self) -> io::Result<impl Iterator<Item = NameEntry>> {
        let files = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            files => Some(files?),
        };
        let paths = files.into_iter().flatten().flatten().map(|file| file.path());
        // A file with an extension is a manifest, or was left by an agent that was killed.
        let entries = paths.filter(|path| path.extension().is_none());
        Ok(entries.filter_map(|path| {
            // A copy below another name would be told twice.
            read(&path).filter(|entry| self.path(entry.record.name()) == path)
        }))
    }

    /// Opens the manifest of `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn open_manifest(&self, name: &str) -> io::Result<File> {
        File::open(self.path(name).with_extension(MANIFEST))
    }

    /// Returns the manifest of `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn manifest(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_manifest(name)?.take(NAME_MANIFEST_MAX as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Keeps an entry, unless a newer one is here that the controller with `key` made, at the time `wall_ns` of the
    /// wall clock. `manifest` is what was sent before it. Returns the record that is valid then.
    ///
    /// # Errors
    /// When the manifest of the entry is not here, its number is far ahead, there are too many names, or files
    /// cannot be written.
    pub fn keep(
        &self,
        entry: &NameEntry,
        manifest: &[u8],
        key: &RecordKey,
        wall_ns: u64,
    ) -> Result<NameRecord, String> {
        entry.check()?;
        let _changing = self.change()?;
        self.keep_changing(entry, manifest, key, wall_ns)
    }

    /// Adds a holder of the content with the manifest `root` to the entry of `name`, if it has this content.
    ///
    /// # Errors
    /// When the holder has no usual name or path, or the entry cannot be written.
    pub fn hold(&self, name: &str, root: [u8; 32], holder: NameHolder) -> Result<(), String> {
        holder.check()?;
        if self.find_one(name).is_none() {
            return Ok(());
        }
        let _changing = self.change()?;
        let Some(mut entry) = self.find_one(name) else { return Ok(()) };
        let has_content = entry.record.content().is_some_and(|content| content.root == root);
        if !has_content || entry.holders.contains(&holder) {
            return Ok(());
        }
        entry.add(holder);
        private_file::replace(&self.path(name), &entry.to_bytes())
            .map_err(|error| self.unwritten(&error))
    }

    /// Keeps an entry while nobody else changes the list.
    fn keep_changing(
        &self,
        entry: &NameEntry,
        manifest: &[u8],
        key: &RecordKey,
        wall_ns: u64,
    ) -> Result<NameRecord, String> {
        let told = |error: io::Error| self.unwritten(&error);
        let record = &entry.record;
        let name = record.name();
        let path = self.path(name);
        // A changed one, or one of an earlier key, would never be replaced if it had a high number.
        let old = self.find_one(name).map(|old| old.record).filter(|old| old.is_signed_by(key));
        if let Some(newer) = old.as_ref().filter(|old| old.is_newer_than(record)) {
            return Ok(newer.clone());
        }
        // The clock of whoever published may be wrong, or that of this node: what is known already goes on.
        let known_ns = old.as_ref().map_or(0, NameRecord::number).max(wall_ns);
        if record.number() > known_ns.saturating_add(RECORD_AHEAD_MAX_NS) {
            let hours = (record.number() - wall_ns) / 3_600_000_000_000;
            return Err(format!("the record of {name} is {hours} h ahead of this node's clock"));
        }
        if old.is_none() && !path.exists() {
            self.make_room(record.number(), key)?;
        }
        let beside = path.with_extension(MANIFEST);
        match record.content() {
            Some(content) if content_digest(manifest) == content.root => {
                private_file::replace(&beside, manifest).map_err(told)?;
            }
            Some(content) => {
                let has = self.manifest(name).is_ok_and(|it| content_digest(&it) == content.root);
                if !has {
                    return Err(format!("the manifest of {name} did not arrive"));
                }
            }
            None => {}
        }
        private_file::replace(&path, &entry.to_bytes()).map_err(told)?;
        if record.content().is_none() {
            // The record stays, and says that the name has ended.
            let _ = fs::remove_file(beside);
        }
        Ok(record.clone())
    }

    /// Makes room for one more name, with the record `number`. The place of an ended name is taken only if that was
    /// long before: whatever agent was away would bring it back. That of a record which is none of `key` is taken
    /// first.
    fn make_room(&self, number: u64, key: &RecordKey) -> Result<(), String> {
        if self.count() < NAMES_MAX {
            return Ok(());
        }
        let all = self.all().map_err(|error| format!("cannot read the list of names: {error}"))?;
        let mut ended = Vec::new();
        let mut foreign = None;
        for NameEntry { record, .. } in all {
            if !record.is_signed_by(key) {
                foreign = Some(record);
                break;
            }
            if record.content().is_none() {
                ended.push(record);
            }
        }
        let first = ended.iter().min_by_key(|record| record.number());
        let is_old = |record: &&NameRecord| number.saturating_sub(record.number()) > ENDED_KEPT_NS;
        match foreign.as_ref().or(first.filter(is_old)) {
            Some(old) => {
                let path = self.path(old.name());
                // An ended name has no manifest.
                let _ = fs::remove_file(path.with_extension(MANIFEST));
                fs::remove_file(path).map_err(|error| self.unwritten(&error))
            }
            None if ended.is_empty() => Err(format!("it keeps {NAMES_MAX} names already")),
            None => {
                let ended = ended.len();
                Err(format!("it keeps {NAMES_MAX} names already, of which {ended} have ended"))
            }
        }
    }

    /// Waits until nobody else changes the list: no other thread, and no other agent with this directory.
    fn change(&self) -> Result<(MutexGuard<'static, ()>, File), String> {
        static CHANGING: Mutex<()> = Mutex::new(());
        let own = CHANGING.lock();
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        let folder = made.and_then(|()| File::open(&self.0));
        let locked = folder.and_then(|folder| lock::lock(&folder).map(|_| folder));
        Ok((own, locked.map_err(|error| self.unwritten(&error))?))
    }

    fn unwritten(&self, error: &io::Error) -> String {
        format!("cannot write below {}: {error}", self.0.display())
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

#[cfg(test)]
mod tests;
