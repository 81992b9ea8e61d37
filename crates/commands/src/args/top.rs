//! Arguments of `garland top`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, value_parser};
use garland_core::units::Nanos;
use garland_fleet::args::Launch;

/// The arguments of `garland top`.
#[derive(Debug, ClapArgs)]
pub struct Top {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// Time between updates, from 1s to 1h.
    #[arg(short, long, default_value = "1s", value_name = "TIME", value_parser = interval)]
    pub interval: Nanos,
    /// End after N updates [default: run until interrupted].
    #[arg(short = 'n', long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// Write the figures to FILE for Prometheus, at each update, instead of printing lines.
    ///
    /// FILE is a text file such as those of the textfile collector of the node exporter; it is
    /// replaced at once. On a terminal the screen is shown as well.
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

fn interval(text: &str) -> Result<Nanos, String> {
    let interval = Nanos::parse_or_seconds(text).map_err(|error| error.to_string())?;
    let range = Nanos::from_secs(1)..=Nanos::from_secs(3600);
    range
        .contains(&interval)
        .then_some(interval)
        .ok_or_else(|| "it must be from 1s to 1h".to_owned())
}
