//! Arguments of `garland exec`.

use std::ffi::OsString;

use clap::Args as ClapArgs;
use garland_core::units::Nanos;
use garland_fleet::args::Launch;

/// The arguments of `garland exec`.
#[derive(Debug, ClapArgs)]
pub struct Exec {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// COMMAND is a line for the shell of each node.
    ///
    /// Pipes, `;`, variables and patterns are those of the node. Several words are joined by
    /// spaces.
    #[arg(short, long)]
    pub shell: bool,
    /// Print equal output once, when all nodes have ended [default on a terminal, with several
    /// nodes].
    #[arg(long, group = "arrangement")]
    pub fold: bool,
    /// Print each node's output together, in the order of NODES.
    #[arg(long, group = "arrangement")]
    pub group: bool,
    /// Print whole lines as they come, each after its node's name [default in a pipe or file; one
    /// node that is named by itself gets its bytes as they are].
    #[arg(long, group = "arrangement")]
    pub line_buffer: bool,
    /// Leave these nodes out.
    #[arg(short = 'x', long = "exclude", value_name = "NODES")]
    pub excluded: Option<String>,
    /// Read no standard input: the commands get an empty one. For `while read` loops.
    ///
    /// Otherwise all nodes get this command's standard input, unless it is a terminal, as fast as
    /// the slowest one reads it.
    #[arg(short = 'n', long)]
    pub no_stdin: bool,
    /// End the commands that run for longer, such as 90s or 5m; they count as failed.
    #[arg(long, value_name = "TIME", value_parser = parse_timeout)]
    pub timeout: Option<Nanos>,
    /// The command and its arguments; `--` may stand before it.
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// Parses a time of at least 1 s, such as `90s` or `5m`, or a number of seconds.
fn parse_timeout(text: &str) -> Result<Nanos, String> {
    let time = Nanos::parse_or_seconds(text).map_err(|error| error.to_string())?;
    if time < Nanos::from_secs(1) { Err("the minimum is 1s".to_owned()) } else { Ok(time) }
}
