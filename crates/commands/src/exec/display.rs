//! The display of the output of commands: which lines are printed when.

use std::io::{self, IsTerminal};
use std::path::Path;

use garland_control::CommandNews;
use garland_terminal::streams::{Arrangement, OUTPUT_MAX, Streams};

use super::folded::Folded;
use crate::args::Exec;

/// The longest output of a node that is kept in memory for the result object, in bytes.
const RESULT_MAX: usize = 64 << 20;

/// The output of the commands of all nodes.
pub enum Display {
    /// Kept for the result object: the standard output and the standard error of each node.
    Result(Vec<[Vec<u8>; 2]>),
    /// Printed at the end, equal output once.
    Folded(Folded),
    /// Printed as it comes, or by nodes.
    Streams(Streams),
}

impl Display {
    /// Creates the display that the user asked for. Large outputs are kept in files in `folder`.
    pub fn new(exec: &Exec, json: bool, names: &[String], folder: &Path) -> Self {
        let is_open = !exec.group && !exec.line_buffer;
        let folds = names.len() > 1 && io::stdout().is_terminal();
        if json {
            return Self::Result(vec![Default::default(); names.len()]);
        }
        if exec.fold || is_open && folds {
            return Self::Folded(Folded::new(names, folder.to_owned()));
        }
        // As with ssh, which many have in their scripts. Lists of any other form, also those that
        // turn out to have one node, are for scripts that read names.
        let is_one = is_open && matches!(names, [name] if *name == exec.nodes);
        let arrangement = match exec.group {
            true => Arrangement::Numbered,
            false if is_one && !io::stdout().is_terminal() => Arrangement::Bytes,
            false => Arrangement::Lines,
        };
        let prefixes = names.iter().map(|name| format!("{name}: ")).collect();
        Self::Streams(Streams::new(arrangement, prefixes, folder))
    }

    /// Fails if an output of the node with this index cannot be kept: why its command has failed. A
    /// node may send without end.
    pub fn admit(&self, at: usize, news: CommandNews<'_>) -> Result<(), String> {
        let CommandNews::Output(_, bytes) = news else { return Ok(()) };
        let number = u32::try_from(at).expect("there are fewer nodes");
        let has_room = match self {
            Self::Result(outputs) => {
                outputs[at].iter().map(Vec::len).sum::<usize>() + bytes.len() <= RESULT_MAX
            }
            Self::Streams(streams) => streams.has_room(number, bytes.len()),
            // Long ones are printed as they come.
            Self::Folded(_) => true,
        };
        if has_room {
            return Ok(());
        }
        let is_result = matches!(self, Self::Result(_));
        let limit = if is_result { RESULT_MAX } else { OUTPUT_MAX } >> 20;
        let option = if is_result { "without --json" } else { "in place of --group" };
        let why = match self {
            Self::Streams(streams) if streams.is_small(number, bytes.len()) => {
                "there is no room for more output of all nodes that waits, and this".to_owned()
            }
            _ => format!("its output is longer than {limit} MiB, and"),
        };
        Err(format!("{why} is not kept; to print it as it comes: --line-buffer {option}"))
    }

    /// Handles an event of the node with this index.
    pub fn show(&mut self, at: usize, news: CommandNews<'_>) -> io::Result<()> {
        let number = u32::try_from(at).expect("there are fewer nodes");
        match (self, news) {
            (Self::Result(outputs), CommandNews::Output(is_error, bytes)) => {
                outputs[at][usize::from(is_error)].extend(bytes);
                Ok(())
            }
            (Self::Folded(folded), CommandNews::Output(is_error, bytes)) => {
                folded.add(at, is_error, bytes)
            }
            (Self::Streams(streams), CommandNews::Output(is_error, bytes)) => {
                streams.add(number, is_error, bytes)
            }
            (Self::Streams(streams), CommandNews::Ended) => streams.end(number),
            (Self::Result(_) | Self::Folded(_), CommandNews::Ended) => Ok(()),
        }
    }

    /// Returns whether the reader of standard output is still there.
    pub fn is_wanted(&self) -> bool {
        !matches!(self, Self::Streams(streams) if !streams.is_wanted())
    }

    /// Prints what is left. Returns the outputs for the result object, if there is one.
    pub fn end(self) -> io::Result<Vec<[Vec<u8>; 2]>> {
        match self {
            Self::Result(outputs) => return Ok(outputs),
            Self::Folded(mut folded) => folded.print()?,
            Self::Streams(streams) => streams.close()?,
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_node_has_a_limit_and_the_reason_names_what_prints_it() {
        let mut display = Display::Result(vec![Default::default(); 2]);
        let piece = vec![b'x'; RESULT_MAX / 2];
        for is_error in [false, true] {
            let news = CommandNews::Output(is_error, &piece);
            assert_eq!(display.admit(0, news), Ok(()));
            display.show(0, news).expect("memory");
        }
        let more = CommandNews::Output(false, b"x");
        let why = display.admit(0, more).expect_err("it is full");
        let told = "its output is longer than 64 MiB, and is not kept; to print it as it comes: \
                    --line-buffer without --json";
        assert_eq!(why, told);
        assert_eq!(display.admit(0, CommandNews::Ended), Ok(()));
        assert_eq!(display.admit(1, more), Ok(()), "the other node's is its own");
    }
}
