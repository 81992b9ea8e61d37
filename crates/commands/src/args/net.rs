//! Arguments of `garland net`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, value_parser};
use garland_fleet::args::Launch;
use garland_topology::config::Format;

use super::words::{Refused, words_and_refused};

/// The values of `--format`.
const FORMATS: &[(&str, Format, &str)] = &[
    ("ifupdown", Format::Ifupdown, "Debian's ifup, /etc/network/interfaces.d"),
    ("networkd", Format::Networkd, "systemd-networkd"),
    ("networkmanager", Format::NetworkManager, "NetworkManager's keyfiles"),
];

/// The words that `--format` refuses.
const REFUSED: &[Refused] = &[
    Refused {
        word: "netplan",
        instead: "cannot write Netplan's YAML; take the files of what Netplan runs: --format networkd or \
                  networkmanager",
    },
    Refused {
        word: "iproute2",
        instead: "cannot write a script of ip commands; --format ifupdown needs no daemon, either",
    },
];

/// The subcommands of `garland net`.
#[derive(Debug, Subcommand)]
pub enum NetCommand {
    /// Draw a topology; list its NICs, routes, parts to buy, and the rates that its wires allow
    Show(NetShow),
    /// Compute how many nodes one star of point-to-point wires allows, and two joined stars
    Size(NetSize),
    /// Print, write or compare the network configuration of a topology's nodes
    Config(NetConfig),
    /// Compare the real network with its plan: cables, rates, MTUs, routes
    ///
    /// An agent on every node of the topology sends probes from every NIC and listens on all.
    /// Reported, with both ends, are swapped, missing, extra and slow cables, half duplex, wrong
    /// MTUs, and routes that differ from the plan; the exit code is then 4. Nodes are reached by
    /// name as by garland exec, or in the lab that was built from the same topology.
    Verify(NetVerify),
}

/// The arguments of `garland net show`.
#[derive(Debug, ClapArgs)]
pub struct NetShow {
    /// A topology file, or a scenario's name.
    pub topology: String,
    /// Write a drawing to this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print all rows of long tables.
    #[arg(long)]
    pub all: bool,
}

/// The arguments of `garland net size`.
#[derive(Debug, ClapArgs)]
pub struct NetSize {
    /// The server's slots for cards.
    #[arg(long, alias = "slots", value_name = "SLOTS", value_parser = value_parser!(u32).range(0..=64))]
    pub card_slots: u32,
    /// Ports of a card.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..=16))]
    pub ports: u32,
    /// Ports on the main board, of servers and nodes alike.
    #[arg(long, default_value_t = 0, value_parser = value_parser!(u32).range(0..=16))]
    pub onboard: u32,
    /// Number of nodes of the star [default: the most that are possible].
    #[arg(long, value_parser = value_parser!(u64).range(1..=10_000))]
    pub nodes: Option<u64>,
    /// The price of a server's card.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub card_price: f64,
    /// The price of a node's NIC, unless one is on board.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub nic_price: f64,
    /// The price of a cable.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub cable_price: f64,
    /// The price of a faster card that joins two servers.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub faster_price: f64,
}

/// The arguments of `garland net config`.
#[derive(Debug, ClapArgs)]
pub struct NetConfig {
    /// A topology file, or a scenario's name.
    pub topology: String,
    /// The node [default: the one with this machine's name].
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Every node.
    #[arg(long, conflicts_with_all = ["node", "map", "diff"])]
    pub all: bool,
    /// The tool that configures the network of the node.
    #[arg(long, value_parser = words_and_refused(FORMATS, REFUSED))]
    pub format: Format,
    /// Name of a NIC of the topology on the real node, such as eth0=enp3s0.
    #[arg(long, value_name = "NIC=NAME")]
    pub map: Vec<String>,
    /// Write the files below this directory instead of printing them; with --all, in a directory
    /// for each node.
    #[arg(long, alias = "output", value_name = "DIR", conflicts_with = "diff")]
    pub output_dir: Option<PathBuf>,
    /// Compare with the installed files; exit with 4 if any differs from the plan.
    #[arg(long)]
    pub diff: bool,
    /// Refused, with what to do instead.
    #[arg(long, hide = true)]
    pub install: bool,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Root directory to compare with.
    #[arg(long, default_value = "/", value_name = "DIR")]
    pub root: PathBuf,
}

/// The arguments of `garland net verify`.
#[derive(Debug, ClapArgs)]
pub struct NetVerify {
    /// A topology file, or a scenario's name.
    pub topology: String,
    /// No progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}
