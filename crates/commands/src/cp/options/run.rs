//! Options that say how the command runs and what it prints.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use garland_copy::command_line::CommandLine;
use garland_copy::spec::RunOptions;
use garland_fleet::args::{Launch, TRACES_VARIABLE, at_least_one};
use garland_showing::ProgressForm;
use garland_state::run::TRACED;

use super::headings::{MORE, TUNING};
use super::kind::{COPY, JOIN};
use super::rule::Rule;

/// How the command runs and what it prints.
#[derive(Clone, Debug, ClapArgs)]
pub struct RunArgs {
    /// Print the plan and stop.
    ///
    /// No node is contacted, except with -v.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Name each entry of a tree that is copied or removed.
    ///
    /// An entry that changes only on some nodes has their names. The entries are those that differ
    /// by size, time, mode or owner. With -n, the nodes are asked, and nothing is changed; a single
    /// file is compared only when it is copied. Of a copy from nodes, each node's file or directory
    /// is named, with the number of its files.
    #[arg(short, long)]
    pub verbose: bool,
    /// Save the plan as JSON.
    #[arg(long, value_name = "FILE", help_heading = TUNING, hide_short_help = true)]
    pub save_plan: Option<PathBuf>,
    /// Keep the traces of the last COUNT copies; older ones are removed.
    #[arg(long, value_name = "COUNT", default_value_t = TRACED, env = TRACES_VARIABLE, hide_env_values = true, value_parser = at_least_one, help_heading = TUNING, hide_short_help = true)]
    pub keep_traces: usize,
    /// No progress, and no result unless something failed.
    #[arg(short, long)]
    pub quiet: bool,
    /// Report progress to programs: a line of JSON on standard error about five times a second, and
    /// one at the end.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        conflicts_with = "quiet",
        help_heading = MORE,
        hide_short_help = true
    )]
    pub progress: Option<ProgressForm>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// Where a spool has the options that say how agents are started.
const BEFORE_DASHES: &str = "it says how agents are started, and stands before `--`";

pub const RULES: &[Rule] = &[
    Rule::everywhere("dry-run")
        .not_spooled("garland cp -an DIR/ENTRY NODES:PATH/ says how an entry would be copied"),
    Rule::everywhere("verbose").spooled(),
    Rule::everywhere("save-plan").not_spooled("the run of each copy keeps its plan"),
    Rule::everywhere("keep-traces").spooled(),
    Rule::new("quiet", COPY | JOIN, "").spooled(),
    Rule::everywhere("progress").spooled(),
    // How agents are started.
    Rule::everywhere("launcher").not_spooled(BEFORE_DASHES),
    Rule::everywhere("mptcp").not_spooled(BEFORE_DASHES),
    Rule::everywhere("lab").not_spooled(BEFORE_DASHES),
    Rule::everywhere("from").not_spooled(BEFORE_DASHES),
    Rule::everywhere("listen").not_spooled(BEFORE_DASHES),
    Rule::everywhere("port").not_spooled(BEFORE_DASHES),
    Rule::everywhere("local-root").not_spooled(BEFORE_DASHES),
    // Options of all commands.
    Rule::everywhere("cluster"),
    Rule::new("json", COPY | JOIN, ""),
];

impl RunArgs {
    /// Returns how the command runs that goes on by `command_line` if it is interrupted.
    pub fn spec(&self, command_line: Option<CommandLine>) -> RunOptions {
        RunOptions {
            launch: self.launch.clone(),
            is_dry: self.dry_run,
            names_entries: self.verbose,
            plan_file: self.save_plan.clone(),
            is_quiet: self.quiet,
            reports_progress: self.progress.is_some(),
            keep_traces: self.keep_traces,
            command_line,
        }
    }
}
