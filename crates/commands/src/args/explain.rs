//! The words of the commands that look at runs.

use clap::Args as ClapArgs;

use garland_results::run::LAST;

/// `garland explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// The run: its name, its folder, or last.
    #[arg(default_value = LAST)]
    pub run: String,
    /// Of a run that gathered the files of several nodes, which is a copy for each: this node's
    /// [default: the one that ended last].
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
}
