//! Jobs: a command with its input files, output files and resources.

use serde::{Deserialize, Serialize};

use super::Text;
use crate::units::Nanos;

/// The command of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// A program and its arguments, run without a shell.
    Words(Vec<Text>),
    /// A command line for `sh -c` on the node.
    Line(Text),
}

/// How a running job moves to another node without losing its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The command line for `sh -c` that saves the work of the job while the job runs.
    pub command: Text,
    /// The command line for `sh -c` that goes on from what was saved, in place of the job's
    /// command.
    pub restore: Text,
    /// The paths of the saved files in the job's own directory; without one, they are reached under
    /// the same names from all nodes.
    #[serde(default)]
    pub state: Vec<Text>,
}

/// A job of a job list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// The job's number in the list, from 1.
    pub number: u32,
    /// The job's name in tables: the first input, or the command.
    pub name: Text,
    /// The command. In a job with files `{in}` (or `{}`) is replaced with the path of its first
    /// input on the node, `{out}` with that of its first output, `{in2}` and `{out2}` with those of
    /// the second ones, and so on.
    pub command: Command,
    /// The paths of the input files, on the machine from which files are transferred to the nodes.
    pub inputs: Vec<Text>,
    /// The paths of the output files, on the machine that has the inputs.
    pub outputs: Vec<Text>,
    /// The number of CPUs that the job needs; 1 by default.
    pub cores: u32,
    /// The memory that the job needs, in bytes; nodes with less do not run it. If `None`, every
    /// node has enough.
    pub memory: Option<u64>,
    /// The maximum run time, after which the job's processes are killed; `None` for no limit.
    pub timeout: Option<Nanos>,
    /// How the job moves to another node while it runs; if `None`, it starts over there.
    #[serde(default)]
    pub checkpoint: Option<Checkpoint>,
}

impl Job {
    /// Returns a job with a command, without files, for one CPU.
    pub fn new(number: u32, name: Text, command: Command) -> Self {
        let inputs = Vec::new();
        let outputs = Vec::new();
        let memory = None;
        let timeout = None;
        let checkpoint = None;
        Self { number, name, command, inputs, outputs, cores: 1, memory, timeout, checkpoint }
    }

    /// Returns whether `memory` bytes are enough for the job.
    pub fn fits_in(&self, memory: u64) -> bool {
        self.memory.is_none_or(|needed| needed <= memory)
    }

    /// Returns the command with the placeholders replaced by `inputs` and `outputs`, which are the
    /// paths of the job's files on the node, in the job's order. In a command line for `sh`, paths
    /// are quoted. The command of a job without files is unchanged.
    pub fn command_with(&self, inputs: &[Text], outputs: &[Text]) -> Command {
        let with_files = |text: &Text, quote: bool| fill(text, inputs, outputs, quote);
        match &self.command {
            command if inputs.is_empty() && outputs.is_empty() => command.clone(),
            Command::Words(words) => {
                Command::Words(words.iter().map(|word| with_files(word, false)).collect())
            }
            Command::Line(line) => Command::Line(with_files(line, true)),
        }
    }

    /// Returns the commands and the state files of the job's checkpoint, with the placeholders
    /// replaced as in [`Self::command_with`]; in the paths of state files they are not quoted.
    pub fn checkpoint_with(&self, inputs: &[Text], outputs: &[Text]) -> Option<Checkpoint> {
        let checkpoint = self.checkpoint.as_ref()?;
        if inputs.is_empty() && outputs.is_empty() {
            return Some(checkpoint.clone());
        }
        let line = |text: &Text| fill(text, inputs, outputs, true);
        let file = |name: &Text| fill(name, inputs, outputs, false);
        Some(Checkpoint {
            command: line(&checkpoint.command),
            restore: line(&checkpoint.restore),
            state: checkpoint.state.iter().map(file).collect(),
        })
    }

    /// Returns whether the command has a placeholder for the output with the index `at`, from 0.
    /// Only then can the node choose the path of the output.
    pub fn names_output(&self, at: usize) -> bool {
        let wanted = Some(Placeholder::Output(at));
        let has = |text: &Text| pieces(text.bytes()).any(|(_, found)| found == wanted);
        match &self.command {
            Command::Words(words) => words.iter().any(has),
            Command::Line(line) => has(line),
        }
    }
}

/// A placeholder for the input or output with this index, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder {
    Input(usize),
    Output(usize),
}

/// Splits text into placeholders and the texts between them; only placeholders come with `Some`.
fn pieces(text: &[u8]) -> impl Iterator<Item = (&[u8], Option<Placeholder>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = placeholder_at(rest);
        let length = found.map_or_else(
            || {
                (1..rest.len())
                    .find(|&at| placeholder_at(&rest[at..]).is_some())
                    .unwrap_or(rest.len())
            },
            |(length, _)| length,
        );
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some((piece, found.map(|(_, placeholder)| placeholder)))
    })
}

/// Returns the placeholder at the start of `text`, and its length in bytes.
fn placeholder_at(text: &[u8]) -> Option<(usize, Placeholder)> {
    let inside = text.strip_prefix(b"{")?;
    let end = inside.iter().take(8).position(|&byte| byte == b'}')?;
    let word = std::str::from_utf8(&inside[..end]).ok()?;
    let nth = |rest: &str| match rest {
        "" => Some(0),
        _ => rest.parse::<usize>().ok()?.checked_sub(1),
    };
    let placeholder = if word.is_empty() {
        Placeholder::Input(0)
    } else if let Some(rest) = word.strip_prefix("in") {
        Placeholder::Input(nth(rest)?)
    } else {
        Placeholder::Output(nth(word.strip_prefix("out")?)?)
    };
    Some((end + 2, placeholder))
}

fn fill(text: &Text, inputs: &[Text], outputs: &[Text], quote: bool) -> Text {
    let mut filled = Vec::with_capacity(text.bytes().len());
    for (piece, placeholder) in pieces(text.bytes()) {
        let name = placeholder.and_then(|placeholder| match placeholder {
            Placeholder::Input(at) => inputs.get(at),
            Placeholder::Output(at) => outputs.get(at),
        });
        match name {
            Some(name) if quote => filled.extend(quoted(name.bytes())),
            Some(name) => filled.extend(name.bytes()),
            None => filled.extend(piece),
        }
    }
    Text(filled)
}

/// Quotes bytes as one word for `sh`.
pub fn quoted(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            byte => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let inputs = ["a b".into(), "c".into()];
        let outputs = ["o".into()];
        fill(&text.into(), &inputs, &outputs, false).to_string()
    }

    #[test]
    fn placeholders_stand_for_files() {
        assert_eq!(filled("{in} {in2} {} x{out}.y"), "a b c a b xo.y");
        assert_eq!(
            filled("{in3} {inner} {out0} {out2} {{in}} awk {print}"),
            "{in3} {inner} {out0} {out2} {a b} awk {print}"
        );
    }

    #[test]
    fn a_shell_gets_one_word_for_a_name() {
        let job = Job::new(1, "x".into(), Command::Line("cat {} >{out}".into()));
        let command = job.command_with(&["it's $x".into()], &["y".into()]);
        assert_eq!(command, Command::Line(r"cat 'it'\''s $x' >'y'".into()));
        assert!(job.names_output(0) && !job.names_output(1));
    }

    #[test]
    fn a_checkpoint_has_the_names_of_the_jobs_files() {
        let saved = Checkpoint {
            command: "save {in}".into(),
            restore: "go {out}".into(),
            state: vec!["{out}".into(), "{in}.map".into()],
        };
        let command = Command::Line("x".into());
        let job = Job { checkpoint: Some(saved), ..Job::new(1, "x".into(), command) };
        let with = job.checkpoint_with(&["a b".into()], &["o".into()]).unwrap();
        assert_eq!((with.command, with.restore), ("save 'a b'".into(), "go 'o'".into()));
        assert_eq!(with.state, ["o".into(), "a b.map".into()]);
        assert_eq!(job.checkpoint_with(&[], &[]), job.checkpoint);
    }

    #[test]
    fn braces_of_a_job_without_files_stay() {
        let job = Job::new(1, "x".into(), Command::Line("find {} {in}".into()));
        assert_eq!(job.command_with(&[], &[]), job.command);
    }
}
