//! The words of the commands that look at runs.

use clap::Args as ClapArgs;

/// `garland explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// The run: its name, its folder (a path with a slash), or the last one that has a trace.
    #[arg(default_value = "last")]
    pub run: String,
}
