//! Arguments of publish, get, names and unpublish.

use std::ffi::OsString;

use clap::Args as ClapArgs;
use garland_core::units::Rate;
use garland_fleet::args::{LAB_VARIABLE, Launch, TRACES_VARIABLE, at_least_one};
use garland_showing::ProgressForm;
use garland_state::run::TRACED;

/// The arguments of `garland publish`.
#[derive(Debug, ClapArgs)]
pub struct Publish {
    /// The file or directory: a path on this machine, NODES:PATH, or the address of an object, or
    /// of a prefix with a slash at its end (s3://.., https://..).
    ///
    /// It stays where it is; objects are read once now, and later only if no other holder answers.
    /// The nodes need standing agents (`garland up`). A directory may have only regular files and
    /// directories in it; empty directories do not count.
    // A path is arbitrary bytes.
    pub path: OsString,
    /// The name: letters, digits and ._:@+-/, such as llama-70b:v3. If it stands for other content,
    /// it stands for this from now on.
    #[arg(long = "as", value_name = "NAME")]
    pub name: String,
    /// The agents that keep the name.
    #[command(flatten)]
    pub keepers: Keepers,
}

/// The arguments of `garland get`.
#[derive(Debug, ClapArgs)]
pub struct Get {
    /// The name, as `garland names` lists it.
    pub name: String,
    /// The nodes and the path on them, NODES:PATH, or a path on this machine.
    ///
    /// On a node with a standing agent only a path on the node itself: it reads with the key of the
    /// cluster that its agent was given, and then is a holder. Nodes that ask at the same time
    /// follow each other.
    // A path is arbitrary bytes.
    pub destination: OsString,
    /// Limit every link, such as 100MB/s or 1gbit. Holders are read no faster than that.
    #[arg(long, value_name = "RATE")]
    pub bwlimit: Option<Rate>,
    /// No progress, and no result unless something failed.
    #[arg(short, long)]
    pub quiet: bool,
    /// Report progress to programs, as `garland cp --progress` does.
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "quiet")]
    pub progress: Option<ProgressForm>,
    /// Keep the traces of the last COUNT copies; older ones are removed.
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = TRACED,
        env = TRACES_VARIABLE,
        value_parser = at_least_one,
        hide = true
    )]
    pub keep_traces: usize,
    /// All words of the command line, for `garland cp --resume`.
    #[arg(skip)]
    pub words: Vec<OsString>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// The arguments of `garland names`.
#[derive(Debug, ClapArgs)]
pub struct Names {
    /// The name to show [default: all].
    pub name: Option<String>,
    /// The agents that keep the names.
    #[command(flatten)]
    pub keepers: Keepers,
}

/// The arguments of `garland unpublish`.
#[derive(Debug, ClapArgs)]
pub struct Unpublish {
    /// The name that ends. The files stay.
    pub name: String,
    /// The agents that keep the name.
    #[command(flatten)]
    pub keepers: Keepers,
}

/// Which agents keep names: those of real nodes, or of a lab.
#[derive(Debug, ClapArgs)]
pub struct Keepers {
    /// The lab whose agents keep the names [default: that of the nodes, or lab if no real node has
    /// a standing agent].
    #[arg(long, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
    pub lab: Option<String>,
}
