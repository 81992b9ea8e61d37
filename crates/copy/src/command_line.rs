//! The command line of a copy, stored in its run, so that `garland cp --resume` can go on with a
//! copy that was interrupted or whose command was killed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use garland_core::farm::Text;
use garland_core::printable;
use garland_fleet::args::LAB_VARIABLE;
use garland_state::places::Places;
use garland_state::run::{Run, read_file};
use garland_terminal::failure::{Failure, OrFailure};
use serde::{Deserialize, Serialize};

use super::ends::{is_descriptor, is_stream};

/// The file in a run's directory.
const FILE: &str = "command.json";

/// How a copy goes on that read a list from what cannot be read again.
const LIST_AGAIN: &str = "start the copy again with the same lists; only what nodes lack is sent";

/// The command line of a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandLine {
    /// The directory in which it was given.
    directory: Text,
    /// Its words; the first is the program's name.
    words: Vec<Text>,
    /// The lab that the environment named, if any.
    lab: Option<Text>,
    /// Whether a source could be read only once.
    is_stream: bool,
    /// Whether a list of paths or patterns could be read only once. Without it, the copy would be
    /// another one.
    #[serde(default)]
    is_list_read: bool,
}

impl CommandLine {
    /// Returns the command line with these words, which copies `sources`; `None` without words,
    /// when another command makes the copy. `is_list_read` says whether a list of paths or patterns
    /// can be read only once.
    pub fn new(words: &[OsString], sources: &[PathBuf], is_list_read: bool) -> Option<Self> {
        if words.is_empty() {
            return None;
        }
        // A directory that was removed cannot be gone to again.
        let directory = std::env::current_dir().ok()?;
        Some(Self {
            directory: text(directory.as_os_str()),
            words: words.iter().map(|word| text(word)).collect(),
            lab: lab_here(),
            is_stream: sources.iter().any(|source| is_stream(source) || is_descriptor(source)),
            is_list_read,
        })
    }

    /// Stores the command line in `run`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(&self, run: &Run) -> Result<(), Failure> {
        run.keep(FILE, self)
    }

    /// Returns whether the copy whose run's directory is `folder` can be started again by its
    /// command line.
    pub fn is_repeatable(folder: &Path) -> bool {
        let line = read_file(&folder.join(FILE)).ok();
        let line = line.and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        line.is_some_and(|line| !line.is_stream && !line.is_list_read)
    }

    /// Prints the command that sends the rest of the copy of `run`, which not all nodes have, if
    /// that can be done.
    pub fn tell_how_to_resume(run: &Run) {
        match Self::kept_in(run) {
            Ok(Self { is_list_read: true, .. }) => {
                garland_terminal::errln!("to go on: {LIST_AGAIN}")
            }
            Ok(line) if !line.is_stream => {
                garland_terminal::errln!("to go on: garland cp --resume {}", run.name());
            }
            _ => {}
        }
    }

    /// Returns the words of the copy of `run` after the program's name. Makes its directory the
    /// current one, so that its paths mean the same.
    ///
    /// # Errors
    /// When the run is unknown, still runs or read what cannot be read again, or when its directory
    /// is gone.
    pub fn go_back_to(run: &str) -> Result<Vec<OsString>, Failure> {
        let run = Run::find_own(&Places::open()?, run, FILE, "a copy that can be resumed")?;
        if run.is_running() {
            return Err(Failure::usage(format!("{} is still running", run.name()))
                .hint(format!("to add nodes to it: garland cp --join {} NODES", run.name())));
        }
        let line = Self::kept_in(&run)?;
        line.check(run.name())?;
        let directory = PathBuf::from(OsString::from_vec(line.directory.0));
        std::env::set_current_dir(&directory).or_nothing(format!(
            "going to {}, where the copy was started",
            printable::path(&directory)
        ))?;
        Ok(line.words.into_iter().map(|word| OsString::from_vec(word.0)).collect())
    }

    fn kept_in(run: &Run) -> Result<Self, Failure> {
        let path = run.folder().join(FILE);
        let reading = format!("reading {}", printable::path(&path));
        let bytes = read_file(&path).or_nothing(&reading)?;
        serde_json::from_slice(&bytes).or_nothing(&reading)
    }

    /// Fails if the copy could become another one here.
    fn check(&self, run: &str) -> Result<(), Failure> {
        if self.is_stream {
            let message = format!(
                "cannot resume {run}: its source was a stream, which can be read only once"
            );
            return Err(Failure::usage(message).hint("start the copy again"));
        }
        if self.is_list_read {
            let message = format!(
                "cannot resume {run}: it read a list of paths or patterns from standard input or a pipe"
            );
            return Err(Failure::usage(message).hint(LIST_AGAIN));
        }
        if self.lab == lab_here() {
            return Ok(());
        }
        let message = format!("cannot resume {run} here: {LAB_VARIABLE} was different");
        Err(Failure::usage(message).hint(match &self.lab {
            Some(lab) => format!("export {LAB_VARIABLE}={lab}"),
            None => format!("unset {LAB_VARIABLE}"),
        }))
    }
}

fn lab_here() -> Option<Text> {
    std::env::var_os(LAB_VARIABLE).map(|lab| text(&lab))
}

fn text(word: &OsStr) -> Text {
    Text::from(word.as_bytes())
}
