//! Arguments of `garland explain`.

use clap::Args as ClapArgs;
use garland_state::run::LAST;

/// The arguments of `garland explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// The run: its name, its directory, or last.
    #[arg(default_value = LAST)]
    pub run: String,
    /// For a run that gathered files from several nodes, one copy each: the copy from this node
    /// [default: the one that ended last].
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
}
