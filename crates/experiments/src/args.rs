//! The arguments of `garland scenario` and `garland demo`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, value_parser};

/// `garland scenario`.
#[derive(Debug, ClapArgs)]
pub struct Scenario {
    /// The subcommand.
    #[command(subcommand)]
    pub command: ScenarioCommand,
}

/// The subcommands of `garland scenario`.
#[derive(Debug, Subcommand)]
pub enum ScenarioCommand {
    /// List the scenarios and their questions
    List,
    /// Show what a scenario asks, and the published facts that it answers
    Show {
        /// A scenario's name or file.
        name: String,
    },
    /// Run a scenario, and print the published figures beside the emulated ones
    Run {
        /// A scenario's name or file.
        #[arg(required_unless_present = "all")]
        name: Option<String>,
        /// Run all scenarios that have a job, one after the other.
        #[arg(long, conflicts_with = "name")]
        all: bool,
        /// Run each scenario once, instead of three times or nine short ones, and grade nothing.
        #[arg(long)]
        quick: bool,
        /// Write a report of the runs to FILE, with the account of all grades on top.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Length of files as a share of the published length [default: the scenario's].
        #[arg(long)]
        scale: Option<f64>,
    },
}

/// `garland demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Number of nodes to emulate; each needs space for the file [default: 4; with 8 processors 8].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub nodes: Option<u32>,
    /// Size of the file [default: what takes some seconds].
    #[arg(long)]
    pub size: Option<String>,
    /// Rate of every wire [default: so low that this machine's processors are not the limit].
    #[arg(long)]
    pub rate: Option<String>,
}
