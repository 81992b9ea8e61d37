//! The arguments of `garland scenario` and `garland demo`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, value_parser};

/// `garland scenario`.
#[derive(Debug, ClapArgs)]
pub struct Scenario {
    /// What to do.
    #[command(subcommand)]
    pub command: ScenarioCommand,
}

/// The scenarios' commands.
#[derive(Debug, Subcommand)]
pub enum ScenarioCommand {
    /// The scenarios and their questions
    List,
    /// Run one, by name or file, and print published beside emulated
    Run {
        /// Its name.
        #[arg(required_unless_present = "all")]
        name: Option<String>,
        /// All that can be run, one after another.
        #[arg(long, conflicts_with = "name")]
        all: bool,
        /// Write a report of what was run, as garland report does.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The file's length as a share of the published one [default: the scenario's].
        #[arg(long)]
        scale: Option<f64>,
    },
}

/// `garland demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// How many nodes to emulate; each gets the file, and so needs room for it.
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub nodes: u32,
    /// Bytes of the file.
    #[arg(long, default_value = "1GiB")]
    pub size: String,
    /// The rate of every wire.
    #[arg(long, default_value = "1gbit")]
    pub rate: String,
}
