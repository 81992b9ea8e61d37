//! Entries in `done`, which are looked at for an hour: what was written after the copy goes out
//! again.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use garland_core::farm::Text;
use garland_sys::{clock, new_file, regular_file};
use serde::{Deserialize, Serialize};

use super::status::Status;

/// For how long an entry in `done` is looked at.
const WATCHED_NS: u64 = 3_600_000_000_000;

/// The shortest pause between two looks at an entry.
const PAUSE_NS: u64 = 1_000_000_000;

/// The pause is this part of the time since the entry was done.
const AGE_PER_PAUSE: u64 = 10;

/// How many lines the file may have, besides two for each entry, before it is rewritten.
const SPARE_LINES: usize = 1000;

/// An entry that all nodes have.
#[derive(Debug)]
pub struct FinishedEntry {
    /// Its name in `done`.
    pub place: OsString,
    /// Its status when it came there.
    pub status: Status,
    ended_ns: u64,
    due_ns: u64,
}

/// The entries in `done` that are looked at, by the names that they had in the spool. Times are
/// monotonic nanoseconds. Of several versions only the last one counts: nodes have that.
#[derive(Debug, Default)]
pub struct FinishedEntries {
    entries: HashMap<OsString, FinishedEntry>,
    due: BTreeSet<(u64, OsString)>,
}

impl FinishedEntries {
    /// Adds an entry that came to `place` in `done` at the time `ended_ns`.
    pub fn add(&mut self, name: OsString, place: OsString, status: Status, ended_ns: u64) {
        self.forget(&name);
        let due_ns = ended_ns.saturating_add(PAUSE_NS);
        self.due.insert((due_ns, name.clone()));
        self.entries.insert(name, FinishedEntry { place, status, ended_ns, due_ns });
    }

    /// Returns the name of the entry that is to be looked at next, if its time has come.
    pub fn next(&self, now_ns: u64) -> Option<OsString> {
        self.due.first().filter(|(due_ns, _)| *due_ns <= now_ns).map(|(_, name)| name.clone())
    }

    /// Returns the time at which the next entry is to be looked at.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.due.first().map(|(due_ns, _)| *due_ns)
    }

    /// Returns the entry that had this name in the spool.
    pub fn get(&self, name: &OsStr) -> Option<&FinishedEntry> {
        self.entries.get(name)
    }

    /// Notes that an entry had this status at the time `now_ns`, and was not written. It is looked
    /// at again later, unless its hour is over.
    pub fn keep(&mut self, name: &OsStr, status: Status, now_ns: u64) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let age_ns = now_ns.saturating_sub(entry.ended_ns);
        if age_ns >= WATCHED_NS {
            return self.forget(name);
        }
        self.due.remove(&(entry.due_ns, name.to_owned()));
        let pause_ns = (age_ns / AGE_PER_PAUSE).max(PAUSE_NS);
        let end_ns = entry.ended_ns.saturating_add(WATCHED_NS);
        entry.due_ns = now_ns.saturating_add(pause_ns).min(end_ns);
        entry.status = status;
        self.due.insert((entry.due_ns, name.to_owned()));
    }

    /// Removes an entry.
    pub fn forget(&mut self, name: &OsStr) {
        if let Some(entry) = self.entries.remove(name) {
            self.due.remove(&(entry.due_ns, name.to_owned()));
        }
    }
}

/// The file with the finished entries, for the next process that serves the spool. Each line is one
/// entry; the last one of a name counts.
#[derive(Debug)]
pub struct FinishedFile {
    path: PathBuf,
    file: File,
    lines: usize,
}

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Line {
    name: Text,
    place: Text,
    /// When the entry came to `done`, by the wall clock.
    ended_ns: u64,
    status: Status,
}

impl FinishedFile {
    /// Opens the file `path`, which is created if missing. Returns it, and the entries of the last
    /// hour.
    ///
    /// # Errors
    /// When the file can neither be read nor written.
    pub fn open(path: &Path) -> io::Result<(Self, FinishedEntries)> {
        let mut entries = FinishedEntries::default();
        for line in read(path)? {
            let age_ns = clock::wall_ns().saturating_sub(line.ended_ns);
            if age_ns < WATCHED_NS {
                let ended_ns = clock::now_ns().saturating_sub(age_ns);
                entries.add(line.name(), OsString::from_vec(line.place.0), line.status, ended_ns);
            }
        }
        Ok((Self::write(path, &entries)?, entries))
    }

    /// Writes a file with these entries.
    fn write(path: &Path, entries: &FinishedEntries) -> io::Result<Self> {
        let mut text = Vec::new();
        for (name, entry) in &entries.entries {
            let age_ns = clock::now_ns().saturating_sub(entry.ended_ns);
            let ended_ns = clock::wall_ns().saturating_sub(age_ns);
            text.extend(Line::new(name, entry, ended_ns).to_bytes()?);
        }
        new_file::write(path, &text)?;
        let file = regular_file::open_with(OpenOptions::new().append(true), path)?;
        Ok(Self { path: path.to_owned(), file, lines: entries.entries.len() })
    }

    /// Adds the entry `name`, which is one of `entries`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, name: &OsStr, entries: &FinishedEntries) -> io::Result<()> {
        if self.lines > 2 * entries.entries.len() + SPARE_LINES {
            *self = Self::write(&self.path, entries)?;
            return Ok(());
        }
        let Some(entry) = entries.get(name) else { return Ok(()) };
        self.lines += 1;
        self.file.write_all(&Line::new(name, entry, clock::wall_ns()).to_bytes()?)
    }
}

impl Line {
    fn new(name: &OsStr, entry: &FinishedEntry, ended_ns: u64) -> Self {
        Self {
            name: Text::from(name.as_bytes()),
            place: Text::from(entry.place.as_bytes()),
            ended_ns,
            status: entry.status.clone(),
        }
    }

    fn name(&self) -> OsString {
        OsString::from_vec(self.name.0.clone())
    }

    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Reads the lines of the file `path`. One that was not written whole is left out.
fn read(path: &Path) -> io::Result<Vec<Line>> {
    let file = match regular_file::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => BufReader::new(opened?),
    };
    let lines: Vec<Vec<u8>> = file.split(b'\n').collect::<io::Result<_>>()?;
    Ok(lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finished_entry_is_looked_at_less_and_less_often_for_an_hour() {
        let mut entries = FinishedEntries::default();
        let name = OsString::from("a");
        let status = Status::of_version(1);
        entries.add(name.clone(), "a.~1~".into(), status.clone(), 0);
        let mut looks = Vec::new();
        while let Some(now_ns) = entries.next_due_ns() {
            assert_eq!(entries.next(now_ns - 1), None);
            assert_eq!(entries.next(now_ns).as_deref(), Some(name.as_os_str()));
            looks.push(now_ns);
            entries.keep(&name, status.clone(), now_ns);
        }
        assert_eq!(looks[..3], [PAUSE_NS, 2 * PAUSE_NS, 3 * PAUSE_NS]);
        assert_eq!(looks.last(), Some(&WATCHED_NS));
        assert!(looks.len() < 80, "{} looks", looks.len());
        assert!(entries.get(&name).is_none());
    }

    #[test]
    fn finished_entries_are_known_after_a_restart() {
        let name = format!("garland-finished-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let (mut file, mut entries) = FinishedFile::open(&path).unwrap();
        for version in [1, 2] {
            let place = OsString::from(format!("a{version}"));
            entries.add("a".into(), place, Status::of_version(version), clock::now_ns());
            file.add(OsStr::new("a"), &entries).unwrap();
        }
        // A process that was killed while it wrote.
        file.file.write_all(b"{\"name\":\"b").unwrap();
        let (_, entries) = FinishedFile::open(&path).unwrap();
        let entry = entries.get(OsStr::new("a")).unwrap();
        assert_eq!(
            (entry.place.as_os_str(), &entry.status),
            (OsStr::new("a2"), &Status::of_version(2))
        );
        assert_eq!(entries.entries.len(), 1);
        std::fs::remove_file(&path).unwrap();
    }
}
