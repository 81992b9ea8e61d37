//! The words of `garland trace`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use garland_results::run::LAST;

/// `garland trace`.
#[derive(Debug, ClapArgs)]
pub struct Trace {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// The traces' commands.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Write a copy's timeline: when which node read, sent, received, wrote, and waited
    ///
    /// A process is a node, a row of it a stage of one of its threads; what was sent is joined with
    /// what was received. All times are the head's, as far as clocks could be compared. Besides:
    /// what the kernel counted of connections, threads and disks.
    Export(TraceExport),
}

/// `garland trace export`.
#[derive(Debug, ClapArgs)]
pub struct TraceExport {
    /// The run: its name, its folder, or last.
    #[arg(default_value = LAST)]
    pub run: String,
    /// Of a run that gathered the files of several nodes, which is a copy for each: this node's
    /// [default: the one that ended last].
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// What to write.
    #[arg(long, value_enum)]
    pub format: ExportFormat,
    /// Where to; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The formats of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Perfetto's own: open it at ui.perfetto.dev.
    Perfetto,
    /// JSON trace events: for chrome://tracing and many other programs.
    Chrome,
    /// A table of all spans and samples, for spreadsheets and scripts.
    Csv,
}
