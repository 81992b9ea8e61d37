//! Reads the list of jobs from a file or the command line.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use garland_core::farm::list::{Pattern, SEPARATOR, expand, parse_lines, parse_tables};
use garland_core::farm::{Checkpoint, Job, Text};
use garland_core::printable;
use garland_core::units::Nanos;
use garland_sys::inherited;
use garland_terminal::failure::{Failure, OrFailure};

use crate::args::FarmRun;

/// The separator between a command and files of its inputs.
const SEPARATOR_OF_FILES: &[u8] = b"::::";

/// Reads the jobs, and returns them with the user's node list, if there is one.
pub fn read(asked: &FarmRun) -> Result<(Vec<Job>, Option<String>), Failure> {
    let text = |word: &OsString| Text::from(word.as_bytes());
    let what = in_order(&asked.what);
    let (jobs, nodes) = match (&what[..], &asked.command[..]) {
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
            refuse_second_inputs(&words)?;
            let words = with_lines_of_files(with_piped_inputs(words))?;
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

/// Returns whether a word can only be a list of nodes.
fn looks_like_nodes(word: &OsStr) -> bool {
    let word = word.as_bytes();
    !word.contains(&b'/') && (word.contains(&b'[') || word.starts_with(b"@"))
}

/// Returns the file of jobs before the nodes. Users who think of the nodes first write them first:
/// then only the second word is a file.
fn in_order(what: &[OsString]) -> Vec<OsString> {
    let is_list = |word: &OsString| word == "-" || Path::new(word).is_file();
    let mut what = what.to_vec();
    if let [first, second] = &what[..]
        && !is_list(first)
        && (is_list(second) || looks_like_nodes(first) && !looks_like_nodes(second))
    {
        what.swap(0, 1);
    }
    what
}

/// Refuses a second list of inputs, of which GNU parallel makes all combinations.
fn refuse_second_inputs(words: &[Text]) -> Result<(), Failure> {
    let is_separator = |word: &&Text| [SEPARATOR, SEPARATOR_OF_FILES].contains(&word.bytes());
    match words.iter().filter(is_separator).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::usage("a command has one ::: or, for files, one ::::").hint(
            "for all combinations, let the shell make them: garland farm run NODES -- sh -c \
             'COMMAND {}' ::: {a,b}' '{c,d}",
        )),
    }
}

/// Returns the words of a command with `:::` and inputs in the place of `::::` and files of them,
/// which have one input a line; `-` is standard input.
fn with_lines_of_files(mut words: Vec<Text>) -> Result<Vec<Text>, Failure> {
    let Some(at) = words.iter().position(|word| word.bytes() == SEPARATOR_OF_FILES) else {
        return Ok(words);
    };
    let files = words.split_off(at);
    words.push(SEPARATOR.into());
    for file in &files[1..] {
        let bytes = read_bytes(path(file).as_os_str())?;
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        words.extend(lines.map(Text::from));
    }
    if words.last().is_some_and(|word| word.bytes() == SEPARATOR) {
        return Err(Failure::usage("the files after :::: have no inputs").hint(
            "one input a line: find . -name '*.wav' | garland farm run NODES -- COMMAND {} :::: -",
        ));
    }
    Ok(words)
}

/// Adds standard input as the inputs of a command that has `{}` and no inputs, if it is a pipe or a
/// file, as with GNU parallel.
fn with_piped_inputs(mut words: Vec<Text>) -> Vec<Text> {
    if !has_placeholder_without_inputs(&words) {
        return words;
    }
    let input = fs::metadata("/proc/self/fd/0").map(|input| input.file_type());
    if input.is_ok_and(|kind| kind.is_fifo() || kind.is_file()) {
        garland_terminal::errln!(
            "note    inputs are read from standard input; where {{}} is meant as it is: </dev/null"
        );
        words.extend([SEPARATOR_OF_FILES, b"-"].map(Text::from));
    } else {
        garland_terminal::errln!(
            "note    {{}} stays as it is: inputs come after ::: behind the command, or from a pipe"
        );
    }
    words
}

/// Returns whether a command has `{}`, which stands for an input, but no inputs. It may be meant,
/// as in `find -exec`.
fn has_placeholder_without_inputs(words: &[Text]) -> bool {
    let has = |part: &[u8]| words.iter().any(|word| word.bytes().windows(2).any(|two| two == part));
    let separators = [SEPARATOR, SEPARATOR_OF_FILES];
    has(b"{}") && words.iter().all(|word| !separators.contains(&word.bytes()))
}

/// Reads a file of jobs or of inputs; `-` is standard input.
fn read_bytes(path: &OsStr) -> Result<Vec<u8>, Failure> {
    if path == "-" {
        let mut bytes = Vec::new();
        let read = inherited::input().and_then(|mut input| input.read_to_end(&mut bytes));
        read.or_nothing("cannot read standard input")?;
        return Ok(bytes);
    }
    fs::read(path).map_err(|error| {
        let shown = printable::path(Path::new(path));
        let why = garland_sys::error::reason(&error);
        Failure::usage(format!("cannot read {shown}: {why}"))
    })
}

fn read_list(path: &OsStr) -> Result<Vec<Job>, Failure> {
    let shown = printable::path(Path::new(path));
    let bytes = read_bytes(path).map_err(|failure| match looks_like_nodes(path) {
        true => Failure::usage(format!("no jobs are given: {shown} is no file of jobs"))
            .hint(format!("jobs from standard input: garland farm run - '{shown}'"))
            .hint(format!("a command: garland farm run '{shown}' -- COMMAND ::: INPUT..")),
        false => failure.hint(
            "to run a command, write it after -- : garland farm run [NODES] -- COMMAND ::: INPUT..",
        ),
    })?;
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
