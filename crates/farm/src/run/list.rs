//! Reads the list of jobs from a file or the command line.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::farm::list::{Pattern, SEPARATOR, expand, parse_lines, parse_tables};
use garland_core::farm::{Checkpoint, Job, Text};
use garland_core::printable;
use garland_core::units::Nanos;
use garland_sys::inherited;
use garland_terminal::failure::{Failure, OrFailure};

use crate::args::FarmRun;

/// Reads the jobs, and returns them with the user's node list, if there is one.
pub fn read(asked: &FarmRun) -> Result<(Vec<Job>, Option<String>), Failure> {
    let text = |word: &OsString| Text::from(word.as_bytes());
    let (jobs, nodes) = match (&asked.what[..], &asked.command[..]) {
        ([], []) => {
            return Err(Failure::usage("no jobs are given").hint(
                "usage: garland farm run JOBS [NODES], or garland farm run [NODES] -- COMMAND ::: INPUT..",
            ));
        }
        (_, []) if asked.out.is_some() => {
            return Err(Failure::usage("--out is for a command after --")
                .hint("name the outputs in the file of jobs"));
        }
        ([list, nodes @ ..], []) => (read_list(list)?, nodes.first()),
        ([_, _, ..], _) => {
            return Err(Failure::usage("a file of jobs and a command after -- exclude each other")
                .hint("omit one of them"));
        }
        (nodes, words) => {
            let words: Vec<Text> = words.iter().map(text).collect();
            if has_placeholder_without_inputs(&words) {
                garland_terminal::errln!(
                    "note    {{}} stays as it is: inputs come after ::: behind the command"
                );
            }
            let output = asked.out.as_ref().map(|pattern| Pattern(text(pattern)));
            let jobs = expand(&words, output.as_ref()).map_err(Failure::usage)?;
            (jobs, nodes.first())
        }
    };
    let timeout = asked.timeout.as_ref().map(|text| text.parse::<Nanos>()).transpose();
    let timeout = timeout.map_err(Failure::usage)?;
    let commands = asked.checkpoint.as_ref().zip(asked.restore.as_ref());
    let checkpoint = commands.map(|(command, restore)| Checkpoint {
        command: text(command),
        restore: text(restore),
        state: asked.state.iter().map(text).collect(),
    });
    let with_defaults = |job: Job| Job {
        timeout: job.timeout.or(timeout),
        checkpoint: job.checkpoint.or_else(|| checkpoint.clone()),
        ..job
    };
    let jobs = jobs.into_iter().map(with_defaults).collect();
    Ok((jobs, nodes.map(|nodes| nodes.to_string_lossy().into_owned())))
}

/// Returns whether a command has `{}`, which stands for an input, but no inputs. It may be meant,
/// as in `find -exec`.
fn has_placeholder_without_inputs(words: &[Text]) -> bool {
    let has = |part: &[u8]| words.iter().any(|word| word.bytes().windows(2).any(|two| two == part));
    has(b"{}") && words.iter().all(|word| word.bytes() != SEPARATOR)
}

fn read_list(path: &OsStr) -> Result<Vec<Job>, Failure> {
    let shown = printable::path(Path::new(path));
    let mut bytes = Vec::new();
    if path == "-" {
        inherited::input()
            .and_then(|mut input| input.read_to_end(&mut bytes))
            .or_nothing("cannot read the jobs from standard input")?;
    } else {
        bytes = fs::read(path).map_err(|error| {
            Failure::usage(format!(
                "cannot read the file of jobs {shown}: {}",
                garland_sys::error::reason(&error)
            ))
            .hint("to run a command, write it after -- : garland farm run -- COMMAND ::: INPUT..")
        })?;
    }
    let is_toml = Path::new(path).extension().is_some_and(|ending| ending == "toml");
    let jobs = if is_toml {
        let text = String::from_utf8(bytes);
        let text = text
            .map_err(|_| Failure::usage(format!("{shown} is not valid TOML: it is not UTF-8")))?;
        parse_tables(&text)
    } else {
        parse_lines(&bytes)
    };
    jobs.map_err(|error| Failure::usage(format!("{shown}: {error}")))
}

/// Returns whether the words after `:::` are input files: the command has `{in}`. Otherwise they
/// may be any words, as with GNU parallel. The inputs in a file of jobs are files.
pub fn names_inputs(asked: &FarmRun) -> bool {
    let has = |word: &OsString| word.as_bytes().windows(4).any(|part| part == b"{in}");
    asked.command.is_empty() || asked.command.iter().any(has)
}

/// Fails if an input is missing.
pub fn check_inputs(jobs: &[Job]) -> Result<(), Failure> {
    let inputs = jobs.iter().flat_map(|job| &job.inputs);
    let missing: Vec<&Text> = inputs.filter(|name| !path(name).exists()).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let failure = Failure::usage(format!("missing input: {}", some(first, missing.len())));
    Err(failure.hint(
        "{in} is a file, and so is each word after ::: if files are moved; else {} may be any word",
    ))
}

/// Fails if an output exists and `overwrite` is not set.
pub fn check_outputs(jobs: &[Job], overwrite: bool) -> Result<(), Failure> {
    let outputs = jobs.iter().flat_map(|job| &job.outputs);
    let there: Vec<&Text> =
        outputs.filter(|name| !overwrite && path(name).symlink_metadata().is_ok()).collect();
    match there.first() {
        Some(first) => Err(Failure::usage(format!("output exists: {}", some(first, there.len())))
            .hint("--overwrite replaces outputs, each one when it is complete")),
        None => Ok(()),
    }
}

/// Returns the total size in bytes of a job's inputs that exist on this machine. Their paths are
/// relative to `here`.
pub fn bytes_of_inputs(job: &Job, here: &Path) -> u64 {
    let length = |name: &Text| fs::metadata(here.join(path(name))).map_or(0, |stat| stat.len());
    job.inputs.iter().map(length).sum()
}

fn path(name: &Text) -> &Path {
    Path::new(OsStr::from_bytes(name.bytes()))
}

/// Formats the first of `count` names, with the number of the others.
fn some(first: &Text, count: usize) -> String {
    if count > 1 { format!("{first} (and {} more)", count - 1) } else { first.to_string() }
}
