//! Arguments of `garland top`.

use clap::{Args as ClapArgs, value_parser};

use garland_fleet::args::Launch;

/// The arguments of `garland top`.
#[derive(Debug, ClapArgs)]
pub struct Top {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// Seconds between updates.
    #[arg(short, long, default_value_t = 1, value_name = "SECONDS", value_parser = value_parser!(u32).range(1..=3600))]
    pub interval: u32,
    /// End after N updates [default: run until interrupted].
    #[arg(short = 'n', long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}
