//! The display of the output of commands: which lines are printed when.

use std::io::{self, IsTerminal};
use std::path::Path;

use garland_control::CommandNews;
use garland_terminal::streams::{Arrangement, Streams};

use super::folded::Folded;
use crate::args::Exec;

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
        let arrangement = if exec.group { Arrangement::Numbered } else { Arrangement::Lines };
        let prefixes = names.iter().map(|name| format!("{name}: ")).collect();
        Self::Streams(Streams::new(arrangement, prefixes, folder))
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
