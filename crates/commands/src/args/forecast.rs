//! Arguments of forecast and plan.

use clap::{Args as ClapArgs, Subcommand, ValueEnum, value_parser};
use garland_core::units::Rate;
use garland_fleet::args::LAB_VARIABLE;

/// The arguments of `garland forecast`.
#[derive(Debug, Default, ClapArgs)]
pub struct Forecast {
    /// Runs of the same work on different node counts: names, directories, or last.
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Times measured elsewhere, such as 1=24:10,2=12m30s,4=395s.
    #[arg(long, value_name = "N=TIME", value_delimiter = ',', allow_hyphen_values = true)]
    pub points: Vec<String>,
    /// The node counts to predict: 1..64, or 8,16,24.
    #[arg(long, value_name = "COUNTS", default_value = "1..64")]
    pub nodes: String,
    /// Network of the nodes: a topology file, a scenario, or a shape (hub, switch, star, rail).
    #[arg(long, value_name = "TOPOLOGY")]
    pub topology: Option<String>,
    /// The rate of every wire, instead of the topology's.
    #[arg(long, value_name = "RATE", requires = "topology")]
    pub rate: Option<String>,
    /// NICs of each node, on as many switches or hubs.
    #[arg(long, value_name = "K", requires = "topology", value_parser = value_parser!(u16).range(1..=16))]
    pub nics: Option<u16>,
    /// The points are copies of BYTES to each node, as in runs of copies.
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["jobs", "bytes_in", "bytes_out", "limit"])]
    pub copy: Option<String>,
    /// Shape of the plan of these copies.
    #[arg(long, alias = "plan", value_enum, default_value_t = PlanName::Chain)]
    pub shape: PlanName,
    /// Number of jobs of the work [default: it can be divided at will].
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// A resource that all nodes share, and the time for which the whole work keeps it busy, such
    /// as disk=100s.
    #[arg(long, value_name = "NAME=TIME")]
    pub limit: Vec<String>,
    /// Bytes that all jobs together read from the first node of the topology.
    #[arg(long, alias = "in", value_name = "BYTES", requires = "topology")]
    pub bytes_in: Option<String>,
    /// Bytes that all jobs together write to the first node of the topology.
    #[arg(long, alias = "out", value_name = "BYTES", requires = "topology")]
    pub bytes_out: Option<String>,
    /// Price of a node, with everything that it needs.
    #[arg(long, value_name = "PRICE")]
    pub node_price: Option<f64>,
    /// Price that does not depend on the number of nodes.
    #[arg(long, value_name = "PRICE", requires = "node_price")]
    pub fixed_price: Option<f64>,
}

/// The route of a copy.
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

/// The subcommands of `garland plan`.
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Find the fastest plan for a copy: garland plan suggest 1GiB --topology switch --nodes 20
    ///
    /// Chains and trees in several orders, over one rail and over all, with blocks of several
    /// sizes, are simulated; the fastest comes first. The answer is a set of options for garland
    /// cp. With NODES it is the plan that garland cp makes by default.
    Suggest(PlanSuggest),
}

/// The arguments of `garland plan suggest`.
#[derive(Debug, ClapArgs)]
pub struct PlanSuggest {
    /// Bytes of the file.
    pub bytes: String,
    /// Nodes of a lab, whose topology is known, or nodes that `garland wires` measured in the last
    /// day.
    #[arg(value_name = "NODES", required_unless_present = "topology")]
    pub list: Option<String>,
    /// Lab that lab:.. nodes belong to [default: lab].
    #[arg(long, value_name = "NAME", env = LAB_VARIABLE, hide_env_values = true)]
    pub lab: Option<String>,
    /// The copy will not be encrypted.
    #[arg(long)]
    pub no_encrypt: bool,
    /// The copy will have this limit of every link between two machines, such as 100MB/s or 1gbit.
    #[arg(long, value_name = "RATE")]
    pub bwlimit: Option<Rate>,
    /// Network of the nodes: a topology file, a scenario, or a shape (hub, switch, star, rail).
    #[arg(long, value_name = "TOPOLOGY", conflicts_with = "list")]
    pub topology: Option<String>,
    /// Number of nodes that receive the file [default: all of the topology but its first].
    #[arg(long, value_name = "N", requires = "topology", value_parser = value_parser!(u32).range(1..=1000))]
    pub nodes: Option<u32>,
    /// The rate of every wire, instead of the topology's.
    #[arg(long, value_name = "RATE", requires = "topology")]
    pub rate: Option<String>,
    /// NICs of each node, on as many switches or hubs.
    #[arg(long, value_name = "K", requires = "topology", value_parser = value_parser!(u16).range(1..=16))]
    pub nics: Option<u16>,
}
