//! The command line of a copy, stored in its run, so that `garland cp --resume` can go on with a
//! copy that was interrupted or whose command was killed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use garland_core::farm::Text;
use serde::{Deserialize, Serialize};

use super::ends::is_stream;
use crate::args::Cp;
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Failure, OrFailure};

/// The file in a run's directory.
const FILE: &str = "command.json";

/// The options that may stand beside `--resume`; they say how this command reports.
const BESIDE: [&str; 4] = ["resume", "quiet", "json", "progress"];

/// The command line of a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandLine {
    /// The directory in which it was given.
    directory: Text,
    /// Its words; the first is the program's name.
    words: Vec<Text>,
}

impl CommandLine {
    /// Stores the command line of `cp` in `run`; nothing if another command makes the copy.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(cp: &Cp, run: &Run) -> Result<(), Failure> {
        if cp.words.is_empty() {
            return Ok(());
        }
        let directory = std::env::current_dir().or_nothing("finding the current directory")?;
        let text = |word: &OsStr| Text::from(word.as_bytes());
        let words = cp.words.iter().map(|word| text(word)).collect();
        run.keep(FILE, &Self { directory: text(directory.as_os_str()), words })
    }

    /// Says how the copy of `run`, which not all nodes have, goes on, if sending the rest is enough.
    pub fn tell_how_to_resume(cp: &Cp, run: &Run) {
        if !cp.words.is_empty() && !cp.sources().iter().any(|source| is_stream(source)) {
            garland_terminal::errln!("to go on: garland cp --resume {}", run.name());
        }
    }

    /// Returns the command line with which the copy of `run` was started. Makes its directory the
    /// current one, so that its paths mean the same. `cp` has `--resume`.
    ///
    /// # Errors
    /// When the run is unknown, still runs or read standard input, when its directory is gone, or
    /// when `cp` has options that the copy's own command line decides.
    pub fn of(cp: &Cp, run: &str) -> Result<Vec<OsString>, Failure> {
        let other = cp.typed.iter().find(|(option, _)| !BESIDE.contains(&option.as_str()));
        if let Some((option, _)) = other {
            return Err(Failure::usage(format!("--{option} has no effect with --resume"))
                .hint("the copy goes on with the options of its own command; only --quiet, --progress and --json can be combined with --resume"));
        }
        if cp.has_paths() {
            return Err(Failure::usage("--resume takes no SOURCE and no DESTINATION")
                .hint("the copy goes on with those of its own command"));
        }
        let run = Run::find(&Places::open()?, run, FILE, "a copy that can be resumed")?;
        if run.is_running() {
            return Err(Failure::usage(format!("{} is still running", run.name()))
                .hint(format!("to add nodes to it: garland cp --join {} NODES", run.name())));
        }
        let path = run.folder().join(FILE);
        let reading = format!("reading {}", path.display());
        let bytes = std::fs::read(&path).or_nothing(&reading)?;
        let line: Self = serde_json::from_slice(&bytes).or_nothing(&reading)?;
        let directory = PathBuf::from(OsString::from_vec(line.directory.0));
        std::env::set_current_dir(&directory)
            .or_nothing(format!("going to {}, where the copy was started", directory.display()))?;
        Ok(line.words.into_iter().map(|word| OsString::from_vec(word.0)).collect())
    }

    /// Sets how a resumed copy reports: as `asked`, the command with `--resume`, says. `run` is the
    /// run that is resumed.
    ///
    /// # Errors
    /// When the copy's source can be read only once.
    pub fn resumed(mut copy: Cp, asked: &Cp, run: &str) -> Result<Cp, Failure> {
        if copy.sources().iter().any(|source| source.as_os_str() == "-") {
            return Err(Failure::usage(format!(
                "cannot resume {run}: its source was standard input, which can be read only once"
            ))
            .hint("start the copy again"));
        }
        copy.quiet |= asked.quiet;
        copy.progress = asked.progress.or(copy.progress);
        Ok(copy)
    }
}
