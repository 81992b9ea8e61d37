//! Arguments of `garland trace`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use garland_report::Kind;
use garland_state::run::LAST;

use super::words::{Refused, words_and_refused};

/// The values of `--format`.
const FORMATS: &[(&str, Kind, &str)] = &[
    ("chrome", Kind::Chrome, "JSON trace events, for ui.perfetto.dev and many other programs"),
    ("csv", Kind::Csv, "A table of all spans and samples, for spreadsheets and scripts"),
];

/// The words that `--format` refuses.
const REFUSED: &[Refused] = &[Refused {
    word: "perfetto",
    instead: "cannot write Perfetto's own format; ui.perfetto.dev also opens that of --format chrome",
}];

/// The subcommands of `garland trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Write the timeline of a copy: when each node read, sent, received, wrote, and waited
    ///
    /// In the output, a process is a node, and a row is a stage of one of its threads; arrows
    /// connect sends and receives. Times are on the head's clock, if the clocks could be compared.
    /// Kernel counters of connections, threads and disks are included.
    Export(TraceExport),
}

/// The arguments of `garland trace export`.
#[derive(Debug, ClapArgs)]
pub struct TraceExport {
    /// The run: its name, its directory, or last.
    #[arg(default_value = LAST)]
    pub run: String,
    /// For a run that gathered files from several nodes, one copy each: the copy from this node
    /// [default: the one that ended last].
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// Output format.
    #[arg(long, value_parser = words_and_refused(FORMATS, REFUSED))]
    pub format: Kind,
    /// File to write [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
