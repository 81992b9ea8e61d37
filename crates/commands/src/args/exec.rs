//! Arguments of `garland exec`.

use std::ffi::OsString;

use clap::Args as ClapArgs;
use garland_fleet::args::Launch;

/// The arguments of `garland exec`.
#[derive(Debug, ClapArgs)]
pub struct Exec {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// COMMAND is a line for the shell of each node.
    ///
    /// Pipes, `;`, variables and patterns are those of the node. Several words are joined by spaces.
    #[arg(short, long)]
    pub shell: bool,
    /// Print equal output once, when all nodes have ended [default on a terminal, with several nodes].
    #[arg(long, group = "arrangement")]
    pub fold: bool,
    /// Print each node's output together, in the order of NODES.
    #[arg(long, group = "arrangement")]
    pub group: bool,
    /// Print whole lines as they come, each after its node's name [default in a pipe or file].
    #[arg(long, group = "arrangement")]
    pub line_buffer: bool,
    /// The command and its arguments; `--` may stand before it. Its standard input is empty: this command reads
    /// none, so that it can stand in a `while read` loop.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}
