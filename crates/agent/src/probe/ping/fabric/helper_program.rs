//! The helper program that the head sends to nodes without it. It is of the same release as the
//! head, and stays in the agent's memory during the head's session.

use std::io;
use std::sync::Arc;

use garland_sys::error::reason;
use garland_sys::program::Program;

use crate::log::log;

/// The maximum size of a helper program that an agent accepts, in bytes.
const MAX_PROGRAM_BYTES: usize = 32 << 20;

/// The helper that a controller has sent.
#[derive(Default)]
pub struct HelperProgram {
    /// The incomplete program and the number of its bytes so far, or the error of an earlier
    /// parcel; `None` between programs.
    coming: Option<io::Result<(Program, usize)>>,
    /// The last program that was received completely.
    pub whole: Option<Arc<Program>>,
}

impl HelperProgram {
    /// Adds a parcel of the program. `more` is set if others follow; after the last one, the
    /// program is complete, or an error is logged.
    pub fn take(&mut self, parcel: &[u8], more: bool) {
        let before = self.coming.take().unwrap_or_else(|| Ok((Program::new()?, 0)));
        let now = before.and_then(|(mut program, bytes)| {
            let bytes = bytes + parcel.len();
            if bytes > MAX_PROGRAM_BYTES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            program.add(parcel)?;
            Ok((program, bytes))
        });
        if more {
            self.coming = Some(now);
            return;
        }
        match now {
            Ok((program, _)) => self.whole = Some(Arc::new(program)),
            Err(error) => {
                log(&format!("cannot receive garland-fabric from the head: {}", reason(&error)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn parcels_become_a_program_unless_they_are_too_many() {
        let mut helper_program = HelperProgram::default();
        let bytes = std::fs::read("/bin/echo").expect("a program");
        let (one, other) = bytes.split_at(1000);
        helper_program.take(one, true);
        assert!(helper_program.whole.is_none());
        helper_program.take(other, false);
        let program = helper_program.whole.expect("it is whole");
        assert!(Command::new(program.path()).status().expect("it starts").success());
        let mut helper_program = HelperProgram::default();
        let parcel = vec![0; MAX_PROGRAM_BYTES / 2];
        helper_program.take(&parcel, true);
        helper_program.take(&parcel, true);
        helper_program.take(&[0], true);
        helper_program.take(&[0], false);
        assert!(helper_program.whole.is_none());
    }
}
