//! The warden: takes down a lab whose command was killed.
//!
//! A lab for one command is taken down by that command. If it is killed before, the warden process does
//! it: it reads from a pipe whose other end the command holds, and when the pipe closes without a
//! message it ends the lab and removes the given directories. It has a
//! session of its own, so that it outlives a kill of all of a terminal's or a shell's processes.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};

use serde::{Deserialize, Serialize};

use crate::record::Keeper;
use crate::{LabError, role};

/// The message of a command that has taken the lab down itself.
pub(crate) const DISMISSED: &str = "dismissed\n";

/// The task of a warden.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Charge {
    /// The state directory of labs.
    pub(crate) state: PathBuf,
    /// The lab's name.
    pub(crate) name: String,
    /// Its keeper, since a lab of the same name that was started later is another one.
    pub(crate) keeper: Keeper,
    /// The directories to remove.
    pub(crate) folders: Vec<PathBuf>,
}

/// The command's end of the pipe. When it is dropped, or its process dies, the lab is taken down.
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
            let mut pipe = child.stdin.take().expect("standard input was asked for");
            let mut line = serde_json::to_string(charge)?;
            line.push('\n');
            pipe.write_all(line.as_bytes())?;
            Ok(Warden { child, pipe })
        };
        started().map_err(|error| LabError::Keeper {
            name: charge.name.clone(),
            reason: format!("start its warden: {error}"),
        })
    }

    /// Dismisses the warden: the lab is down, or shall stay.
    pub fn dismiss(mut self) {
        // It fails if the warden was killed.
        let _ = self.pipe.write_all(DISMISSED.as_bytes());
        drop(self.pipe);
        let _ = self.child.wait();
    }
}
