//! The options of all commands.

use std::path::PathBuf;

/// The cluster file that the user names, and the format of results.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Context {
    /// The cluster file [default: your ./cluster.toml].
    #[arg(long, global = true, value_name = "FILE", display_order = 900)]
    pub cluster: Option<PathBuf>,
    /// One JSON object on standard output instead of tables.
    #[arg(long, global = true, display_order = 901)]
    pub json: bool,
}
