//! The names that an agent keeps, on disk only: for each an entry and a manifest. In memory is what
//! an order needs, so that 10,000 names cost an agent nothing.
//!
//! The file of a manifest has the digest of that in its name. It is written before the entry that
//! refers to it, and that of the entry before is removed afterwards: whenever the power fails, each
//! entry has its own manifest.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_protocol::copy::content_digest;
use garland_protocol::names::{
    NAME_MANIFEST_MAX, NAMES_MAX, NAMES_MEMORY_MAX, NameEntry, NameHolder, NameRecord,
    RECORD_AHEAD_MAX_NS, RecordKey,
};
use garland_sys::sync::{Mutex, MutexGuard};
use garland_sys::{lock, private_file};

/// The end of the file names of manifests.
const MANIFEST: &str = "manifest";

/// The maximum length of the file of an entry in bytes.
const ENTRY_MAX: u64 = 128 << 10;

/// How long the record of an ended name is kept at least, in nanoseconds, so that an agent that was
/// away does not bring the name back: a year. It is kept longer, unless its place is needed for
/// another name.
const ENDED_KEPT_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// The maximum number of bytes of memory of all holders of a list in the head. Its records take
/// less than the rest.
const HOLDERS_MEMORY_MAX: usize = NAMES_MEMORY_MAX / 2;

/// The directory of the names that an agent keeps.
#[derive(Debug)]
pub struct NameStore {
    folder: PathBuf,
    /// Whether there are no manifests to which no entry refers, since nothing has failed.
    is_clean: Mutex<bool>,
}

/// What an order to keep an entry leads to.
enum Plan<'a> {
    /// These steps, in order.
    Keep(Vec<Step<'a>>),
    /// Nothing: this newer record is here.
    Newer(NameRecord),
}

/// A step of a change. It is on stable storage before the next one begins.
enum Step<'a> {
    Write(PathBuf, Cow<'a, [u8]>),
    Remove(PathBuf),
}

impl Step<'_> {
    fn take(&self) -> io::Result<()> {
        match self {
            Self::Write(path, bytes) => private_file::replace(path, bytes),
            Self::Remove(path) => private_file::remove(path),
        }
    }
}

impl NameStore {
    /// Opens the directory `folder`, which is created when a name is kept.
    pub fn open(folder: PathBuf) -> Self {
        Self { folder, is_clean: Mutex::new(false) }
    }

    /// Calls `each` with the entry of `name`, or with all entries, in no order. Damaged ones are
    /// left out, and holders that the head has no room for.
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
        let files = match fs::read_dir(&self.folder) {
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
        let root = || Some(self.find_one(name)?.record.content()?.root);
        let mut wanted = root();
        loop {
            let Some(found) = wanted else { return Err(io::ErrorKind::NotFound.into()) };
            match File::open(self.manifest_path(name, &found)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    wanted = root();
                    if wanted == Some(found) {
                        return Err(error);
                    }
                    // Another content has taken its place meanwhile.
                }
                opened => return opened,
            }
        }
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

    /// Keeps an entry, unless a newer one is here that the controller with `key` made, at the time
    /// `wall_ns` of the wall clock. `manifest` is what was sent before it. Returns the record that
    /// is valid then.
    ///
    /// # Errors
    /// When the manifest of the entry is not here, its number is far ahead, there are too many
    /// names, or files cannot be written.
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

    /// Adds a holder of the content with the manifest `root` to the entry of `name`, if it has this
    /// content. If there are too many, one makes way for it, first one of a node that is not
    /// `known`.
    ///
    /// # Errors
    /// When the holder has no usual name or path, or the entry cannot be written.
    pub fn hold(
        &self,
        name: &str,
        root: [u8; 32],
        holder: NameHolder,
        known: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
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
        entry.add(holder, known);
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
        let steps = match self.plan(entry, manifest, key, wall_ns)? {
            Plan::Newer(newer) => return Ok(newer),
            Plan::Keep(steps) => steps,
        };
        for step in steps {
            step.take().map_err(|error| {
                *self.is_clean.lock() = false;
                self.unwritten(&error)
            })?;
        }
        Ok(entry.record.clone())
    }

    /// Returns how to keep an entry.
    fn plan<'a>(
        &self,
        entry: &NameEntry,
        manifest: &'a [u8],
        key: &RecordKey,
        wall_ns: u64,
    ) -> Result<Plan<'a>, String> {
        let record = &entry.record;
        let name = record.name();
        let path = self.path(name);
        let before = self.find_one(name).map(|old| old.record);
        // A changed one, or one of an earlier key, would never be replaced if it had a high number.
        let old = before.as_ref().filter(|old| old.is_signed_by(key));
        if let Some(newer) = old.filter(|old| old.is_newer_than(record)) {
            return Ok(Plan::Newer(newer.clone()));
        }
        // The clock of whoever published may be wrong, or that of this node: what is known already
        // goes on.
        let known_ns = old.map_or(0, NameRecord::number).max(wall_ns);
        if record.number() > known_ns.saturating_add(RECORD_AHEAD_MAX_NS) {
            let hours = (record.number() - wall_ns) / 3_600_000_000_000;
            return Err(format!("the record of {name} is {hours} h ahead of this node's clock"));
        }
        let mut steps = Vec::new();
        if old.is_none() && !path.exists() {
            steps = self.room(record.number(), key)?;
        }
        if let Some(content) = record.content() {
            if content_digest(manifest) == content.root {
                let beside = self.manifest_path(name, &content.root);
                steps.push(Step::Write(beside, manifest.into()));
            } else if !self.manifest(name).is_ok_and(|it| content_digest(&it) == content.root) {
                return Err(format!("the manifest of {name} did not arrive"));
            }
        }
        steps.push(Step::Write(path, entry.to_bytes().into()));
        let replaced = before.and_then(|before| before.content()).map(|content| content.root);
        // The record of an ended name stays, and says that it has ended.
        if let Some(replaced) = replaced
            && record.content().is_none_or(|content| content.root != replaced)
        {
            steps.push(Step::Remove(self.manifest_path(name, &replaced)));
        }
        Ok(Plan::Keep(steps))
    }

    /// Returns how to make room for one more name, with the record `number`. The place of an ended
    /// name is taken only if that was long before: whatever agent was away would bring it back.
    /// That of a record which is none of `key` is taken first.
    fn room(&self, number: u64, key: &RecordKey) -> Result<Vec<Step<'static>>, String> {
        if self.count() < NAMES_MAX {
            return Ok(Vec::new());
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
                let manifest = old.content().map(|content| content.root);
                let manifest = manifest.map(|root| self.manifest_path(old.name(), &root));
                let entry = self.path(old.name());
                Ok([entry].into_iter().chain(manifest).map(Step::Remove).collect())
            }
            None if ended.is_empty() => Err(format!("it keeps {NAMES_MAX} names already")),
            None => {
                let ended = ended.len();
                Err(format!("it keeps {NAMES_MAX} names already, of which {ended} have ended"))
            }
        }
    }

    /// Waits until nobody else changes the list: no other thread, and no other agent with this
    /// directory.
    fn change(&self) -> Result<(MutexGuard<'static, ()>, File), String> {
        static CHANGING: Mutex<()> = Mutex::new(());
        let own = CHANGING.lock();
        let made = private_file::create_folder(&self.folder);
        let folder = made.and_then(|()| File::open(&self.folder));
        let locked = folder.and_then(|folder| lock::lock(&folder).map(|_| folder));
        let locked = locked.map_err(|error| self.unwritten(&error))?;
        let mut is_clean = self.is_clean.lock();
        if !*is_clean {
            // What cannot be removed takes room, and is tried again with the next change.
            *is_clean = self.clean().is_ok();
        }
        Ok((own, locked))
    }

    /// Removes the manifests to which no entry refers: an agent or the power failed in the middle
    /// of a change.
    fn clean(&self) -> io::Result<()> {
        for file in fs::read_dir(&self.folder)? {
            let path = file?.path();
            if path.extension().is_some_and(|end| end == MANIFEST) && self.is_stray(&path)? {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Returns whether no entry refers to the manifest in the file `path`.
    fn is_stray(&self, path: &Path) -> io::Result<bool> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let entry = self.folder.join(name.split(['-', '.']).next().unwrap_or_default());
        let mut bytes = Vec::new();
        match File::open(entry).and_then(|file| file.take(ENTRY_MAX).read_to_end(&mut bytes)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            read => drop(read?),
        }
        let record = NameEntry::parse(&bytes).map(|entry| entry.record);
        let of =
            |record: NameRecord| Some(self.manifest_path(record.name(), &record.content()?.root));
        Ok(record.and_then(of).is_none_or(|wanted| wanted != path))
    }

    fn unwritten(&self, error: &io::Error) -> String {
        format!("cannot write below {}: {error}", printable::path(&self.folder))
    }

    /// Returns the entry of `name`.
    pub fn find_one(&self, name: &str) -> Option<NameEntry> {
        read(&self.path(name)).filter(|entry| entry.record.name() == name)
    }

    fn count(&self) -> usize {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_none()).count()
    }

    /// Returns the path of the entry of `name`: names may have slashes.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(hexadecimal(&content_digest(name.as_bytes())[..16]))
    }

    /// Returns the path of the manifest of `name` with the digest `root`.
    fn manifest_path(&self, name: &str, root: &[u8; 32]) -> PathBuf {
        let mut path = self.path(name).into_os_string();
        path.push(format!("-{}.{MANIFEST}", hexadecimal(root)));
        path.into()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Option<NameEntry> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(ENTRY_MAX).read_to_end(&mut bytes).ok()?;
    NameEntry::parse(&bytes)
}

#[cfg(test)]
mod tests;
