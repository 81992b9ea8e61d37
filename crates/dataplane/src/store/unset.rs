//! What a file system refuses to set although the file is there: modes on a FAT, times where a
//! server decides them.

use std::fmt;
use std::io;

use garland_sys::error::reason;
use garland_sys::process;
use rustix::io::Errno;

/// Why an attribute counts as not set although the call succeeded.
pub const NOT_KEPT: &str = "the file system does not keep it";

/// How the reason begins for which an entry is there without all of its attributes.
pub const THERE: &str = "it is there, but ";

/// The attributes that could not be set, each with the reason.
#[derive(Debug, Default)]
pub struct Unset(Vec<String>);

impl Unset {
    /// Notes that `what` could not be set, if `done` is a refusal.
    ///
    /// # Errors
    /// That of `done` if it affects more than the attribute, such as a full or broken disk.
    pub fn note(&mut self, what: &str, done: io::Result<()>) -> io::Result<()> {
        match done {
            Err(error) if is_refusal(&error) => {
                self.0.push(format!("its {what} cannot be set: {}", reason(&error)));
                Ok(())
            }
            done => done,
        }
    }

    /// Notes a refusal to give a file to another owner, if this process is root: other users cannot
    /// give files away.
    pub fn note_owner(&mut self, error: Errno) {
        if process::user_id() == 0 {
            self.0.push(format!("its owner cannot be set: {}", reason(&error.into())));
        }
    }

    /// Returns whether everything was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Succeeds if everything was set.
    ///
    /// # Errors
    /// When something was not; the message says that the file is there.
    pub fn none(&self) -> io::Result<()> {
        if self.is_empty() { Ok(()) } else { Err(io::Error::other(self.to_string())) }
    }
}

impl fmt::Display for Unset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{THERE}{}", self.0.join(", and "))
    }
}

/// Returns whether only the attribute is refused. Errors without a number are those of this
/// program.
pub fn is_refusal(error: &io::Error) -> bool {
    const REFUSALS: [Errno; 5] =
        [Errno::PERM, Errno::ACCESS, Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    Errno::from_io_error(error).is_none_or(|errno| REFUSALS.contains(&errno))
}
