//! Collects the errors of a tree: the files and directories that could not be put in place.

use std::io;
use std::os::fd::OwnedFd;

use garland_core::printable;
use garland_protocol::copy::{ABSENCE_MAX, Absence, AbsenceList, Absent};
use garland_sys::error::{reason, reason_in};
use rustix::io::Errno;

use crate::store::unset::THERE;

/// The maximum number of errors in the reason for which a node fails.
const TOLD_MAX: usize = 5;

/// The errors so far, as many as the head accepts, and the number of all.
#[derive(Debug, Default)]
pub struct Troubles {
    list: AbsenceList,
    /// The top directory of the tree, if something is written there.
    top: Option<OwnedFd>,
}

impl Troubles {
    /// Returns an empty list for a tree that is put in place in the directory `top`.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new(top: &OwnedFd) -> io::Result<Self> {
        Ok(Self { list: AbsenceList::default(), top: Some(top.try_clone()?) })
    }

    /// Records an error at `path`.
    ///
    /// # Errors
    /// When the error affects the rest of the tree, too; such an error is not recorded.
    pub fn note(&mut self, path: &[u8], error: &io::Error) -> io::Result<()> {
        let why = self.top.as_ref().map_or_else(|| reason(error), |top| reason_in(top, error));
        let part = Absent { path: path.to_vec(), reason: why, missed: true };
        if is_for_all(error) {
            return Err(io::Error::other(told(&part)));
        }
        self.list.add(Absence { missed: 1, skipped: 0, parts: vec![part] }, ABSENCE_MAX);
        Ok(())
    }

    /// Returns the entries with errors.
    pub fn absence(&self) -> &Absence {
        self.list.absence()
    }

    /// Succeeds if there were no errors.
    ///
    /// # Errors
    /// When there were errors; contains the texts of the first ones, and the number of all.
    pub fn none(&self) -> Result<(), String> {
        let Absence { missed, parts, .. } = self.absence();
        let what = match missed {
            0 => return Ok(()),
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        // Entries without all of their attributes may be all of a tree: what is not there comes
        // first. File systems differ in the order of a directory's entries.
        let mut sorted: Vec<&Absent> = parts.iter().collect();
        sorted.sort_by_key(|part| (part.reason.starts_with(THERE), &part.path));
        let first: Vec<String> = sorted.into_iter().take(TOLD_MAX).map(told).collect();
        let more = missed.saturating_sub(first.len() as u64);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Err(format!("copied everything except {what}: {}{more}", first.join("; ")))
    }
}

/// Returns an entry and its error for messages.
fn told(part: &Absent) -> String {
    format!("{}: {}", printable::name(&part.path), part.reason)
}

/// Returns whether an error affects the whole disk or process, not only one file.
fn is_for_all(error: &io::Error) -> bool {
    const FOR_ALL: [Errno; 8] = [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::ROFS,
        Errno::IO,
        Errno::STALE,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
    ];
    Errno::from_io_error(error).is_some_and(|errno| FOR_ALL.contains(&errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_errors_are_reported_and_the_others_counted() {
        let mut troubles = Troubles::default();
        assert_eq!(troubles.none(), Ok(()));
        for number in 0..7 {
            let path = format!("d/{number}");
            troubles.note(path.as_bytes(), &Errno::ACCESS.into()).unwrap();
        }
        let said = troubles.none().unwrap_err();
        let start = "copied everything except 7 entries: d/0: permission denied; d/1: ";
        assert!(said.starts_with(start), "{said}");
        assert!(said.ends_with("; and 2 more"), "{said}");
        let Absence { missed, parts, .. } = troubles.absence();
        assert_eq!((*missed, parts.len(), &*parts[6].path), (7, 7, &b"d/6"[..]));
        assert!(troubles.note(b"x", &Errno::NOSPC.into()).is_err());
    }

    #[test]
    fn what_is_not_there_is_told_before_what_lacks_its_mode() {
        let mut troubles = Troubles::default();
        for number in 0..7 {
            let error = io::Error::other(format!("{THERE}its mode cannot be set"));
            troubles.note(format!("{number}").as_bytes(), &error).unwrap();
        }
        troubles.note(b"readme", &io::Error::other("README exists there")).unwrap();
        let said = troubles.none().unwrap_err();
        let start = "copied everything except 8 entries: readme: README exists there; 0: it is ";
        assert!(said.starts_with(start) && said.ends_with("; and 3 more"), "{said}");
    }
}
