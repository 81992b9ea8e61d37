//! Arguments of `garland runs`.

use clap::{Args as ClapArgs, Subcommand};

/// The arguments of `garland runs`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Runs {
    /// What to do with runs; they are listed if nothing is given.
    #[command(subcommand)]
    pub command: Option<RunsCommand>,
    /// The number of runs to list, the last ones.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub last: usize,
}

/// What to do with runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Show one run: its command, nodes and files
    Show {
        /// The run: a name, a directory, or last.
        #[arg(default_value = garland_state::run::LAST, value_name = "RUN")]
        run: String,
    },
    /// Remove runs
    Rm {
        /// The runs: names, directories, or last.
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
}
