//! Arguments of `garland report`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use garland_state::run::LAST;

/// The arguments of `garland report`.
#[derive(Debug, ClapArgs)]
pub struct Report {
    /// The runs: names, directories, or last. Several are compared with the first.
    #[arg(default_value = LAST, value_name = "RUN")]
    pub runs: Vec<String>,
    /// The file to write.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Open it in a browser: with $BROWSER, or xdg-open.
    #[arg(long)]
    pub open: bool,
    /// A result of garland forecast --json, drawn as a curve [default: for copies to different
    /// numbers of nodes, a forecast from them].
    #[arg(long, value_name = "FILE")]
    pub forecast: Option<PathBuf>,
}
