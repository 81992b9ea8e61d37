//! `garland cp --resume`: the command line with which a copy goes on.

use std::ffi::OsString;

use garland_copy::command_line::CommandLine;
use garland_terminal::failure::Failure;

use super::Cp;

/// The options that may stand beside `--resume`; they say how this command reports.
const BESIDE: [&str; 4] = ["resume", "quiet", "json", "progress"];

/// Returns the command line with which the copy of `run` was started. Makes its directory the
/// current one, so that its paths mean the same. `asked` has `--resume`.
///
/// # Errors
/// When the run is unknown, still runs or read standard input, when its directory is gone, or
/// when `asked` has options that the copy's own command line decides.
pub fn words(asked: &Cp, run: &str) -> Result<Vec<OsString>, Failure> {
    let other = asked.typed.iter().find(|(option, _)| !BESIDE.contains(&option.as_str()));
    if let Some((option, _)) = other {
        return Err(Failure::usage(format!("--{option} has no effect with --resume"))
            .hint("the copy goes on with the options of its own command; only --quiet, --progress and --json can be combined with --resume"));
    }
    if asked.has_paths() {
        return Err(Failure::usage("--resume takes no SOURCE and no DESTINATION")
            .hint("the copy goes on with those of its own command"));
    }
    CommandLine::go_back_to(run)
}

/// Returns how a resumed copy is made: as `copy`, its own command line, but it reports as `asked`
/// says.
pub fn reporting(mut copy: Cp, asked: &Cp) -> Cp {
    copy.run.quiet |= asked.run.quiet;
    copy.run.progress = asked.run.progress.or(copy.run.progress);
    copy
}
