//! What belongs to every command.

use std::path::PathBuf;

/// The cluster file that was named, and how results are printed.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Context {
    /// The cluster file: nodes, groups, racks, rails, ssh options [default: your own ./cluster.toml,
    /// then ~/.config/garland/cluster.toml, if there].
    #[arg(long, global = true, value_name = "FILE", display_order = 900)]
    pub cluster: Option<PathBuf>,
    /// One JSON object on standard output instead of tables.
    #[arg(long, global = true, display_order = 901)]
    pub json: bool,
}
