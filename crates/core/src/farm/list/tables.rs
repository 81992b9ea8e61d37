//! Job lists in TOML. Requirements are given once for all jobs, or for each job:
//!
//! ```toml
//! cores = 1                    # default of all jobs
//! [[job]]
//! command = "lame -b 256 {in} {out}"      # run by sh -c; a list of words runs without a shell
//! inputs = ["a.wav"]
//! outputs = ["a.mp3"]
//! memory = "200MB"
//! timeout = "300s"
//! checkpoint = "kill -HUP $GARLAND_JOB_PID"   # saves the job's work, for `--migrate`
//! restore = "lame --resume {in} {out}"        # goes on from it
//! state = ["a.saved"]                         # the files with the work, in the job's own directory
//! ```

use serde::Deserialize;

use super::{ListError, joined, numbered};
use crate::farm::{Checkpoint, Command, Job, Text};
use crate::units::{Nanos, bytes};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    cores: Option<u32>,
    memory: Option<String>,
    timeout: Option<String>,
    #[serde(default)]
    job: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    command: Words,
    #[serde(default)]
    inputs: Vec<Text>,
    #[serde(default)]
    outputs: Vec<Text>,
    cores: Option<u32>,
    memory: Option<String>,
    timeout: Option<String>,
    checkpoint: Option<Text>,
    restore: Option<Text>,
    #[serde(default)]
    state: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    Line(String),
    Words(Vec<Text>),
}

/// Parses a list in TOML.
///
/// # Errors
/// If the text is not such a list, with the position, or if a job is invalid.
pub fn parse_tables(text: &str) -> Result<Vec<Job>, ListError> {
    let list: List = toml::from_str(text).map_err(|error| ListError::Toml(error.to_string()))?;
    let List { cores, memory, timeout, job } = list;
    let read = |(at, entry): (usize, Entry)| {
        let wrong = |why: String| ListError::Job(at + 1, why);
        let command = match entry.command {
            Words::Line(line) => Command::Line(Text::from(line.as_str())),
            Words::Words(words) => Command::Words(words),
        };
        let (text, is_empty) = match &command {
            Command::Words(words) => (joined(words), words.is_empty()),
            Command::Line(line) => (line.clone(), line.bytes().trim_ascii().is_empty()),
        };
        if is_empty {
            return Err(wrong("the command is empty".to_owned()));
        }
        let name = entry.name.map(|name| Text::from(name.as_str()));
        let name = name.or_else(|| entry.inputs.first().cloned()).unwrap_or(text);
        let cores = entry.cores.or(cores).unwrap_or(1);
        if cores == 0 {
            return Err(wrong("`cores` must be at least 1".to_owned()));
        }
        let checkpoint = match (entry.checkpoint, entry.restore) {
            (Some(command), Some(restore)) => {
                Some(Checkpoint { command, restore, state: entry.state })
            }
            (None, None) if entry.state.is_empty() => None,
            _ => {
                return Err(wrong(
                    "`checkpoint` and `restore` need each other, and `state` needs both".to_owned(),
                ));
            }
        };
        let memory = entry.memory.as_ref().or(memory.as_ref());
        let memory = memory.map(|text| bytes::parse(text)).transpose();
        let timeout = entry.timeout.as_ref().or(timeout.as_ref());
        let timeout = timeout.map(|text| text.parse::<Nanos>()).transpose();
        Ok(Job {
            inputs: entry.inputs,
            outputs: entry.outputs,
            cores,
            memory: memory.map_err(|error| wrong(format!("memory: {error}")))?,
            timeout: timeout.map_err(|error| wrong(format!("timeout: {error}")))?,
            checkpoint,
            ..Job::new(0, name, command)
        })
    };
    numbered(job.into_iter().enumerate().map(read).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_job_does_not_say_the_list_does() {
        let jobs = parse_tables(
            "cores = 2\nmemory = '1GB'\n[[job]]\ncommand = 'x {in}'\ninputs = ['a\\xff']\n\
             timeout = '2s'\n[[job]]\ncommand = ['y', 'z']\ncores = 1\nname = 'Y'\n",
        )
        .unwrap();
        assert_eq!(jobs[0].cores, 2);
        assert_eq!(jobs[0].memory, Some(1_000_000_000));
        assert_eq!(jobs[0].timeout, Some(Nanos::from_secs(2)));
        assert_eq!(jobs[0].name, Text(b"a\xff".to_vec()));
        assert_eq!(jobs[1].cores, 1);
        assert_eq!(jobs[1].name, "Y".into());
        assert_eq!(jobs[1].command, Command::Words(vec!["y".into(), "z".into()]));
    }

    #[test]
    fn what_can_not_be_is_named() {
        let why = |text: &str| parse_tables(text).unwrap_err().to_string();
        assert!(why("[[job]]\ncommand = 'x'\nmemori = '1'").contains("memori"));
        assert_eq!(why("[[job]]\ncommand = ' '"), "job 1: the command is empty");
        assert!(why("[[job]]\ncommand = 'x'\ntimeout = '5 moons'").starts_with("job 1: timeout: "));
        assert_eq!(why("cores = 1"), "the list has no jobs");
        let wanted = "job 1: `checkpoint` and `restore` need each other, and `state` needs both";
        for alone in ["checkpoint = 'x'", "restore = 'x'", "state = ['x']"] {
            assert_eq!(why(&format!("[[job]]\ncommand = 'x'\n{alone}")), wanted);
        }
    }

    #[test]
    fn a_job_may_have_a_checkpoint() {
        let text = "[[job]]\ncommand = 'x'\ncheckpoint = 's'\nrestore = 'r'\nstate = ['f']";
        let saved = parse_tables(text).unwrap().remove(0).checkpoint;
        let state = vec!["f".into()];
        let wanted = Checkpoint { command: "s".into(), restore: "r".into(), state };
        assert_eq!(saved, Some(wanted));
    }
}
