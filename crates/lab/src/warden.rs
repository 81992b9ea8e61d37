//! The warden: a process that ends a lab whose command was killed.
//!
//! A command that starts a lab for itself also ends the lab. If the command is killed before that,
//! the warden ends the lab and removes the given directories: it reads from a pipe whose other end
//! the command holds, and acts when the pipe closes without a message. The warden has a session of
//! its own, so that it survives when all processes of a terminal or a shell are killed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};

use serde::{Deserialize, Serialize};

use crate::record::Keeper;
use crate::{LabError, role};

/// The message to the warden that the command has ended the lab itself.
pub(crate) const DISMISSED: &str = "dismissed\n";

/// The task of a warden.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Charge {
    /// The state directory of labs.
    pub(crate) state: PathBuf,
    /// The lab's name.
    pub(crate) name: String,
    /// The keeper. It distinguishes the lab from a later lab with the same name.
    pub(crate) keeper: Keeper,
    /// The directories to remove.
    pub(crate) folders: Vec<PathBuf>,
}

/// The command's end of the pipe to the warden. When it is dropped or its process dies, the warden
/// ends the lab.
#[derive(Debug)]
pub struct Warden {
    child: Child,
    pipe: ChildStdin,
}

impl Warden {
    /// Starts a warden.
    pub(crate) fn start(charge: &Charge) -> Result<Warden, LabError> {
        let started = || -> io::Result<Warden> {
            let mut child = role::command(role::WARDEN, &charge.name)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            let mut pipe = child.stdin.take().expect("standard input is a pipe");
            role::write_line(&mut pipe, charge)?;
            Ok(Warden { child, pipe })
        };
        started().map_err(|error| LabError::Start {
            name: charge.name.clone(),
            reason: format!("its warden process failed to start: {error}"),
        })
    }

    /// Ends the warden process; the lab keeps running.
    pub fn dismiss(mut self) {
        // This fails if the warden was killed.
        let _ = self.pipe.write_all(DISMISSED.as_bytes());
        drop(self.pipe);
        let _ = self.child.wait();
    }
}
