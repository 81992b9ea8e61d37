//! The words of the commands that look ahead: forecast and plan.

use clap::{Args as ClapArgs, Subcommand, ValueEnum, value_parser};

/// `garland forecast`.
#[derive(Debug, Default, ClapArgs)]
pub struct Forecast {
    /// Runs of one work on different node counts: names, folders, or last.
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Times that were measured elsewhere, such as 1=24:10,2=12m30s,4=395s.
    #[arg(long, value_name = "N=TIME", value_delimiter = ',', allow_hyphen_values = true)]
    pub points: Vec<String>,
    /// The node counts to predict: 1..64, or 8,16,24.
    #[arg(long, value_name = "COUNTS", default_value = "1..64")]
    pub nodes: String,
    /// What joins the nodes: a topology file, a scenario, or a shape (hub, switch, star, rail).
    #[arg(long, value_name = "TOPOLOGY")]
    pub topology: Option<String>,
    /// The rate of every wire, instead of the topology's.
    #[arg(long, value_name = "RATE", requires = "topology")]
    pub rate: Option<String>,
    /// How many NICs each node has, on as many switches or hubs.
    #[arg(long, value_name = "K", requires = "topology", value_parser = value_parser!(u16).range(1..=16))]
    pub nics: Option<u16>,
    /// The points are of copies of so many bytes to each node, as those of copies' runs are.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["jobs", "bytes_in", "bytes_out", "limit"])]
    pub copy: Option<String>,
    /// How such copies go.
    #[arg(long, value_enum, default_value_t = PlanName::Chain)]
    pub plan: PlanName,
    /// How many jobs the work consists of; without, it can be cut at will.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Something that all nodes share, and how long the whole work keeps it busy, such as
    /// disk=100s.
    #[arg(long, value_name = "NAME=TIME")]
    pub limit: Vec<String>,
    /// Bytes that all jobs together get from the first node of the topology.
    #[arg(long = "in", value_name = "BYTES", requires = "topology")]
    pub bytes_in: Option<String>,
    /// Bytes that they send back.
    #[arg(long = "out", value_name = "BYTES", requires = "topology")]
    pub bytes_out: Option<String>,
    /// What each node costs, with all that it needs.
    #[arg(long, value_name = "PRICE")]
    pub node_price: Option<f64>,
    /// What is to be paid however many nodes there are.
    #[arg(long, value_name = "PRICE", requires = "node_price")]
    pub fixed_price: Option<f64>,
}

/// How a copy goes to its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlanName {
    /// From node to node.
    #[default]
    Chain,
    /// Each node feeds two others.
    Tree,
    /// The first node sends to each.
    Star,
}

/// `garland plan`.
#[derive(Debug, ClapArgs)]
pub struct Plan {
    /// What to do.
    #[command(subcommand)]
    pub command: PlanCommand,
}

/// The plans' commands.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Which plan suits a copy, and why: garland plan suggest 1GiB --topology switch --nodes 20
    ///
    /// Chains and trees over one or all rails, with blocks of several sizes, are simulated over the
    /// topology; the quickest comes first. The answer is words for garland cp.
    Suggest(PlanSuggest),
}

/// `garland plan suggest`.
#[derive(Debug, ClapArgs)]
pub struct PlanSuggest {
    /// Bytes of the file.
    pub bytes: String,
    /// What joins the nodes: a topology file, a scenario, or a shape (hub, switch, star, rail).
    #[arg(long, value_name = "TOPOLOGY")]
    pub topology: String,
    /// How many nodes get it [default: all of the topology but its first].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub nodes: Option<u32>,
    /// The rate of every wire, instead of the topology's.
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// How many NICs each node has, on as many switches or hubs.
    #[arg(long, value_name = "K", value_parser = value_parser!(u16).range(1..=16))]
    pub nics: Option<u16>,
}
