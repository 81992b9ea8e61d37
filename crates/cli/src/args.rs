//! The command line, as the user typed it. Parsing does nothing else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, value_parser};

/// The lab that is meant where none is named.
pub const DEFAULT_LAB: &str = "lab";

/// Moves files through a cluster at the speed of its slowest wire, and accounts for every
/// millisecond it could not.
#[derive(Debug, Parser)]
#[command(name = "garland", version, after_help = NODES_HELP)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// The cluster file: nodes, groups, racks, rails, ssh options [default: ./cluster.toml, then
    /// ~/.config/garland/cluster.toml, if there].
    #[arg(long, global = true, value_name = "FILE", display_order = 900)]
    pub cluster: Option<PathBuf>,
    /// One JSON object on standard output instead of tables.
    #[arg(long, global = true, display_order = 901)]
    pub json: bool,
}

const NODES_HELP: &str = "\
NODES is a node list; quote it, or the shell takes the brackets:
  n[01-20,30]   ranges, zero padding, several brackets: r[1-4]n[01-16]
  a,b           a list
  n[1-9]!n3     without
  ^FILE         the names in a file
  @GROUP, @all  of the cluster file
  @slurm        this allocation
  local[1-8]    agents on this machine, a folder each
  lab:n[1-20]   nodes of an emulated cluster

Exit codes:
  0    all done
  1    some nodes failed
  2    wrong usage or configuration
  3    nothing done
  4    a check found a fault
  130  interrupted";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Copy a file to every node: garland cp FILE 'n[01-20]:/path'
    Cp(Cp),
    /// Run a command on every node; equal output is folded: garland exec 'n[01-20]' -- uptime
    Exec(Exec),
    /// Measure all wires: every pair of nodes, and name what is at fault: garland wires 'n[01-20]'
    Wires(Wires),
    /// Time small gets, puts and messages between nodes: garland ping 'n[1-2]' 0 64
    Ping(Ping),
    /// Measure the disk under a path on every node: garland disk 'n[01-20]:/scratch'
    Disk(Disk),
    /// Start agents that stay, so that copies need no set-up
    Up(Up),
    /// End the agents that stay
    Down(Nodes),
    /// Show the agents that stay
    Status(Status),
    /// An emulated cluster on this machine, without root
    Lab(Lab),
    /// The network of a topology: what it takes and gives, and its configuration files
    Net(Net),
    /// The experiments that Garland reproduces
    Scenario(Scenario),
    /// The tour: a small cluster emulated on this machine and a real copy to all of it
    Demo(Demo),
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write them all to a folder
    Man(Man),
    /// Take part in copies on this node (started by the other commands)
    #[command(hide = true)]
    Agent(Agent),
}

/// `garland cp`.
#[derive(Clone, Debug, ClapArgs)]
pub struct Cp {
    /// The file to copy.
    pub source: PathBuf,
    /// Where to: NODES:PATH. A path that ends in / is a folder, and is made if it isn't there; /dev/null checks and drops
    /// the bytes; - is the command's standard output.
    ///
    /// A relative path begins in the login's home folder over ssh; local and lab nodes have a root
    /// folder of their own, where both kinds of path begin. Quote NODES: the shell knows brackets
    /// too.
    pub destination: OsString,
    /// Keep the file's mode and modification time.
    #[arg(short = 'p', long)]
    pub preserve: bool,
    /// Don't wait until the file is on stable storage.
    #[arg(long)]
    pub no_fsync: bool,
    /// Don't seal blocks, only checksum them: for trusted networks.
    #[arg(long)]
    pub clear: bool,
    /// Print the plan and stop.
    #[arg(long)]
    pub dry_run: bool,
    /// Save the plan as JSON.
    #[arg(long, value_name = "FILE")]
    pub save_plan: Option<PathBuf>,
    /// The chain's order: list (as the node list names them), rack, or a node list.
    #[arg(long, default_value = "list", value_name = "ORDER")]
    pub order: String,
    /// How many lanes, each over its own address of every node; more than there are addresses share
    /// those [default: all that every node has; 1 where a lab's NICs are bonded].
    #[arg(long, value_name = "K")]
    pub rails: Option<u16>,
    /// Bytes of a block, such as 1MiB [default: by the file's size].
    #[arg(long, value_name = "SIZE")]
    pub block_size: Option<String>,
    /// The congestion control to ask for on data links [default: cubic, else reno].
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Exit with 0 when at least N nodes have the file.
    #[arg(long, value_name = "N")]
    pub min_ok: Option<usize>,
    /// No progress.
    #[arg(short, long)]
    pub quiet: bool,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// How agents are started.
#[derive(Clone, Debug, ClapArgs)]
pub struct Launch {
    /// How to start agents on nodes [default: the cluster file's, else ssh].
    #[arg(long, value_enum)]
    pub launcher: Option<LauncherName>,
    /// How relays pass bytes on.
    #[arg(long, value_enum, default_value = "copy", hide = true)]
    pub relay: RelayName,
    /// Data links over MPTCP, on all paths that nodes announce (`ip mptcp endpoint`); plain TCP where
    /// a kernel lacks it [default: for copies of one lane in labs that are bonded by subflows].
    #[arg(long)]
    pub mptcp: bool,
    /// The lab that lab:.. nodes belong to.
    #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME")]
    pub lab: String,
    /// The lab's node that this command runs on and copies from, such as lab:n3 [default: the lab's
    /// first].
    #[arg(long, value_name = "NODE")]
    pub from: Option<String>,
    /// Where local[..] nodes have their folders [default: under Garland's state].
    #[arg(long, value_name = "DIR")]
    pub local_root: Option<PathBuf>,
}

/// The launchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LauncherName {
    /// The system's ssh.
    Ssh,
    /// srun, inside an allocation.
    Slurm,
    /// Processes of this machine.
    Local,
}

/// The ways through a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RelayName {
    /// Inside the kernel.
    Splice,
    /// Through the agent's memory.
    Copy,
}

/// `garland exec`.
#[derive(Debug, ClapArgs)]
pub struct Exec {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// `garland wires`.
#[derive(Debug, ClapArgs)]
pub struct Wires {
    /// The nodes, such as 'n[01-20]'; four at least, or none of them can be told from the others.
    pub nodes: String,
    /// The run to compare with [default: the last one of the same nodes].
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<String>,
    /// Over how many of the nodes' NICs: the first K addresses of each [default: all that all nodes
    /// have].
    #[arg(long, value_name = "K", value_parser = value_parser!(u16).range(1..=64))]
    pub rails: Option<u16>,
    /// Instead: packets of several sizes, between 1, 2 .. pairs at once, by local and by remote wire.
    #[arg(long, conflicts_with_all = ["baseline", "rails", "streams"])]
    pub sweep: bool,
    /// How many streams are sent at once where several are.
    #[arg(long, default_value_t = 4, value_name = "K", value_parser = value_parser!(u16).range(1..=32))]
    pub streams: u16,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// `garland ping`.
#[derive(Debug, ClapArgs)]
pub struct Ping {
    /// The nodes, such as 'n[1-2]': the first one asks each of the others in turn.
    pub nodes: String,
    /// The bytes of an operation, such as 8 or 64KiB [default: 8].
    pub min: Option<String>,
    /// Sizes double from MIN up to this one.
    pub max: Option<String>,
    /// What an operation is.
    #[arg(short, long, value_enum, default_value = "get")]
    pub function: PingFunction,
    /// How many are in flight at a time: N, or N..M for all doublings [default: 1; with --rate 64].
    #[arg(short = 'b', long, value_name = "N", conflicts_with = "sweep")]
    pub in_flight: Option<String>,
    /// How many operations each line is for [default: until the median is known within 1 %].
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// Seconds that a line may take.
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub time: f64,
    /// Begin so many operations a second, whatever becomes of them, and measure from when each was
    /// to begin.
    #[arg(long, value_name = "PER-SECOND", conflicts_with = "sweep", value_parser = value_parser!(u32).range(1..))]
    pub rate: Option<u32>,
    /// Go through 1 to 64 in flight and many sizes: LogGP, the knee, and what binds there.
    #[arg(long)]
    pub sweep: bool,
    /// What it goes by.
    #[arg(long, value_enum, default_value = "tcp")]
    pub transport: PingTransport,
    /// How the first node waits for answers.
    #[arg(long, value_enum, default_value = "block")]
    pub wait: PingWaiting,
    /// What the others do until they are asked [default: idle with --wait poll, else asleep].
    #[arg(long, value_enum)]
    pub target: Option<PingTarget>,
    /// The CPUs to stay on, of the first node and of the others.
    #[arg(long, value_name = "CPU,CPU")]
    pub pin: Option<String>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// `garland disk`.
#[derive(Debug, ClapArgs)]
#[command(after_help = DISK_HELP)]
pub struct Disk {
    /// Where: NODES[:PATH]. PATH is a folder that is there [default: where relative paths begin].
    pub target: OsString,
    /// Bytes of the test's file; no measurement moves more.
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    pub size: String,
    /// The longest that a measurement may take, about 20 of them; making the bytes stable comes on
    /// top.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    pub time: String,
    /// Up to how many operations are put in flight.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub depth: u16,
    /// One node after the other: where nodes share a disk, or what it is attached by.
    #[arg(long)]
    pub one_by_one: bool,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// What `garland ping` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingFunction {
    /// Fetch the other node's bytes; the time until they are here.
    Get,
    /// Put bytes into the other node's memory; the time until that is certain.
    Put,
    /// A message there and one back; half of that time.
    Msg,
}

/// What `garland ping` goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingTransport {
    /// A TCP connection: the other CPU serves gets and puts.
    Tcp,
    /// Memory that agents of one machine share.
    Shm,
    /// A libfabric provider.
    Fabric,
}

/// How one waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingWaiting {
    /// Asleep in the kernel.
    Block,
    /// Looking again and again.
    Poll,
}

/// What a target does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingTarget {
    /// It looks again and again whether it is asked.
    Idle,
    /// It sleeps in the kernel.
    Asleep,
    /// It sleeps, and other work keeps all its CPUs busy.
    Busy,
}

const DISK_HELP: &str = "\
The test writes only to a file of its own in PATH. It has no name, and is gone with the test however
that ends. A twentieth of the file system stays free (4 GiB at most).

Sequential operations have 1 MiB, random ones 4 KiB. \"Cached\" ones go through the page cache: reads
begin without any of the file in it, which is proven by cachestat or mincore, and writes end with
fsync. Direct ones (O_DIRECT) go past it by io_uring, sequential ones 8 at once, random ones at depths
1, 2, 4 .. until more brings nothing: the knee. Stable writes are each followed by fdatasync.";

/// `garland up`.
#[derive(Debug, ClapArgs)]
pub struct Up {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// An agent ends after so many seconds without anything to do.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    pub idle: u64,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// Nodes and nothing else.
#[derive(Debug, ClapArgs)]
pub struct Nodes {
    /// The nodes, such as 'n[01-20]'.
    pub nodes: String,
    /// The lab that lab:.. nodes belong to.
    #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME")]
    pub lab: String,
}

/// `garland status`.
#[derive(Debug, ClapArgs)]
pub struct Status {
    /// The nodes [default: all with an agent that stays].
    pub nodes: Option<String>,
    /// The lab that lab:.. nodes belong to [default: lab].
    #[arg(long, value_name = "NAME")]
    pub lab: Option<String>,
}

/// `garland lab`.
#[derive(Debug, ClapArgs)]
pub struct Lab {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What a lab emulates.
#[derive(Clone, Debug, ClapArgs)]
#[command(group = clap::ArgGroup::new("emulated").args(["topology", "nodes"]).required(true))]
pub struct What {
    /// A topology file, or a scenario's name.
    pub topology: Option<String>,
    /// So many nodes on one switch, beside the head.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub nodes: Option<u32>,
    /// The rate of every wire of that switch, such as 1gbit; unshaped without it.
    #[arg(long, conflicts_with = "topology")]
    pub rate: Option<String>,
    /// Cable it wrongly, to try what finds it; more than once for more faults.
    ///
    /// swap:n2/eth0,n3/eth0 exchanges two NICs' cables; missing:n4/eth0 has one that leads nowhere;
    /// extra:n2/eth7,n3/eth7 is one that isn't planned; slow:n5/eth0=10mbit and mtu:n6/eth0=1400 are
    /// less than planned. Addresses and routes stay as planned.
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,
}

/// The lab's commands.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Build a lab: a topology, or nodes n1.. and a head n0 on one switch
    Up {
        /// What to emulate.
        #[command(flatten)]
        what: What,
        /// The lab's name.
        #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME")]
        lab: String,
        /// Where the nodes' folders go.
        #[arg(long, value_name = "DIR")]
        roots: Option<PathBuf>,
        /// Measure all media and pairs of nodes, and compare them with theory: 15 s at most.
        #[arg(long)]
        check: bool,
        /// Print the steps and stop.
        #[arg(long)]
        dry_run: bool,
    },
    /// Build a lab, run a command of this machine beside it, and tear it down whatever happens
    ///
    /// The command, garland cp for instance, reaches the lab's nodes as lab:n1 while it runs.
    Run {
        /// What to emulate.
        #[command(flatten)]
        what: What,
        /// The lab's name.
        #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME")]
        lab: String,
        /// Where the nodes' folders go.
        #[arg(long, value_name = "DIR")]
        roots: Option<PathBuf>,
        /// Check the lab first; the command isn't run where that finds a fault.
        #[arg(long)]
        check: bool,
        /// The command and its arguments.
        #[arg(last = true)]
        command: Vec<OsString>,
    },
    /// Show the labs of this machine
    Status,
    /// Run a command in a node of a lab
    Exec {
        /// The lab's name.
        #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME")]
        lab: String,
        /// The node: n1, or the head n0.
        node: String,
        /// The command and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Tear a lab down
    Down {
        /// The lab's name.
        #[arg(long, default_value = DEFAULT_LAB, value_name = "NAME")]
        lab: String,
    },
}

/// `garland net`.
#[derive(Debug, ClapArgs)]
pub struct Net {
    /// What to do.
    #[command(subcommand)]
    pub command: NetCommand,
}

/// The network's commands.
#[derive(Debug, Subcommand)]
pub enum NetCommand {
    /// Draw a topology, list its NICs and routes, count what to buy, and say what its wires allow
    Show(NetShow),
    /// How many nodes a star of point-to-point wires allows, and two that are joined
    Size(NetSize),
    /// Print, compare or install the network configuration of a topology's nodes
    Config(NetConfig),
    /// Compare the real network with its plan: cables, rates, MTUs, routes
    ///
    /// An agent on every node of the topology sends probes by every NIC and listens on all. Swapped,
    /// missing, extra and slow cables, half duplex, wrong MTUs and other routes than planned are
    /// named by both ends; the exit code is 4 if there are any. Nodes are reached by their names as
    /// by garland exec, or in the lab of this name if it was built from the same topology.
    Verify(NetVerify),
    /// Keep the configuration that was installed: without this it is undone in time
    Confirm,
    /// Install, and undo unless confirmed (started by net config --install)
    #[command(hide = true)]
    Guard {
        /// The installation's folder.
        installation: PathBuf,
    },
}

/// `garland net show`.
#[derive(Debug, ClapArgs)]
pub struct NetShow {
    /// A topology file, or a scenario's name.
    pub topology: String,
    /// Draw it into this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// All rows of long tables.
    #[arg(long)]
    pub all: bool,
}

/// `garland net size`.
#[derive(Debug, ClapArgs)]
pub struct NetSize {
    /// The server's slots for cards.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=64))]
    pub slots: u32,
    /// Ports of a card.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub ports: u32,
    /// Ports on the main board, of servers and nodes alike.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub onboard: u32,
    /// A star of so many nodes with its server [default: the largest].
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub nodes: Option<u64>,
    /// The price of a server's card.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub card_price: f64,
    /// The price of a node's NIC, where none is on board.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub nic_price: f64,
    /// The price of a cable.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub cable_price: f64,
    /// The price of a faster card that joins two servers.
    #[arg(long, default_value_t = 0.0, value_name = "PRICE")]
    pub faster_price: f64,
}

/// `garland net config`.
#[derive(Debug, ClapArgs)]
pub struct NetConfig {
    /// A topology file, or a scenario's name.
    pub topology: String,
    /// The node [default: the one with this machine's name].
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Every node.
    #[arg(long, conflicts_with_all = ["node", "map", "diff", "install"])]
    pub all: bool,
    /// The tool that configures the node's network.
    #[arg(long, value_enum)]
    pub format: FormatName,
    /// What a NIC of the topology is called on the real node, such as eth0=enp3s0.
    #[arg(long, value_name = "NIC=NAME")]
    pub map: Vec<String>,
    /// Write the files below this folder, with --all in a folder a node; they aren't printed.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["diff", "install"])]
    pub output: Option<PathBuf>,
    /// Compare with the files that are there; exit with 4 if any isn't as planned.
    #[arg(long, conflicts_with = "install")]
    pub diff: bool,
    /// Put the files in their places, let the tool apply them, and put back what was there unless
    /// it is confirmed in time.
    #[arg(long)]
    pub install: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// How long an installation waits for `garland net confirm` or Enter, from 2s to 1h.
    #[arg(long, default_value = "60s", value_name = "TIME")]
    pub confirm_within: String,
    /// The root to compare with or install below; below another than / nothing is applied.
    #[arg(long, default_value = "/", value_name = "DIR")]
    pub root: PathBuf,
}

/// `garland net verify`.
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

/// The formats of network configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    /// Debian's ifup, /etc/network/interfaces.d.
    Ifupdown,
    /// systemd-networkd.
    Networkd,
    /// Netplan.
    Netplan,
    /// NetworkManager's keyfiles.
    Networkmanager,
    /// A script of ip commands.
    Iproute2,
}

/// `garland scenario`.
#[derive(Debug, ClapArgs)]
pub struct Scenario {
    /// What to do.
    #[command(subcommand)]
    pub command: ScenarioCommand,
}

/// The scenarios' commands.
#[derive(Debug, Subcommand)]
pub enum ScenarioCommand {
    /// The scenarios and their questions
    List,
    /// Run one, by name or file, and print published beside emulated
    Run {
        /// Its name.
        name: String,
        /// The file's length as a share of the published one [default: the scenario's].
        #[arg(long)]
        scale: Option<f64>,
    },
}

/// `garland demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// How many nodes to emulate; each gets the file, and so needs room for it.
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub nodes: u32,
    /// Bytes of the file.
    #[arg(long, default_value = "1GiB")]
    pub size: String,
    /// The rate of every wire.
    #[arg(long, default_value = "1gbit")]
    pub rate: String,
}

/// `garland man`.
#[derive(Debug, ClapArgs)]
pub struct Man {
    /// The command: none for garland itself, `cp`, `lab up` and so on.
    pub command: Vec<String>,
    /// Write the pages of all commands to this folder, a file each.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub folder: Option<PathBuf>,
}

/// `garland agent`.
#[derive(Debug, ClapArgs)]
pub struct Agent {
    /// A public key that may command, in hexadecimal.
    #[arg(long, required = true)]
    pub controller: Vec<String>,
    /// The folder that no path leads out of.
    #[arg(long)]
    pub root: Option<PathBuf>,
    /// The port.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Stay for so many seconds without anything to do.
    #[arg(long)]
    pub stay: Option<u64>,
    /// How bytes are passed on.
    #[arg(long, value_enum, default_value = "copy")]
    pub relay: RelayName,
    /// Links speak MPTCP where the kernel has it.
    #[arg(long)]
    pub mptcp: bool,
    /// Bytes per second of an emulated node's disk.
    #[arg(long, value_name = "RATE")]
    pub disk: Option<u64>,
    /// Leave whoever started it behind, and write complaints to a file.
    #[arg(long)]
    pub detach: bool,
    /// That file [default: one under Garland's state on this node].
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}
