//! Collects the errors of a tree: the files and directories that could not be put in place.

use std::io;

use rustix::io::Errno;

use garland_core::printable;
use garland_sys::error::reason;

/// The number of errors whose texts are kept; further ones are only counted.
const REPORTED: usize = 5;

/// The errors so far: the texts of the first ones, and the number of all.
#[derive(Debug, Default)]
pub struct Troubles {
    count: u64,
    first: Vec<String>,
}

impl Troubles {
    /// Records an error at `path`.
    ///
    /// # Errors
    /// When the error affects the rest of the tree, too; such an error is not recorded.
    pub fn note(&mut self, path: &[u8], error: &io::Error) -> io::Result<()> {
        let said = format!("{}: {}", printable::name(path), reason(error));
        if is_for_all(error) {
            return Err(io::Error::other(said));
        }
        self.count += 1;
        if self.first.len() < REPORTED {
            self.first.push(said);
        }
        Ok(())
    }

    /// Succeeds if there were no errors.
    ///
    /// # Errors
    /// When there were errors; contains the texts of the first ones, and the number of all.
    pub fn none(&self) -> Result<(), String> {
        let what = match self.count {
            0 => return Ok(()),
            1 => "1 entry".to_owned(),
            count => format!("{count} entries"),
        };
        let more = self.count.saturating_sub(self.first.len() as u64);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Err(format!("copied everything except {what}: {}{more}", self.first.join("; ")))
    }
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
        assert!(troubles.note(b"x", &Errno::NOSPC.into()).is_err());
    }
}
