//! Arguments of the commands that measure.

mod balance;

use std::ffi::OsString;

use clap::{Args as ClapArgs, ValueEnum, value_parser};
use garland_core::units::Nanos;
use garland_fleet::args::Launch;

pub use self::balance::Balance;

/// `garland wires`.
#[derive(Debug, ClapArgs)]
pub struct Wires {
    /// The nodes, such as 'n[01-20]'; with fewer than four, no fault can be located.
    pub nodes: String,
    /// The run to compare with [default: the last one of the same nodes].
    #[arg(long, alias = "baseline", value_name = "RUN")]
    pub base: Option<String>,
    /// Number of NICs of each node to use: its first K addresses [default: as many as all nodes
    /// have].
    #[arg(long, value_name = "K", value_parser = value_parser!(u16).range(1..=64))]
    pub rails: Option<u16>,
    /// Sweep packet sizes instead, with 1, 2, .. pairs at once, over local and remote wires.
    #[arg(long, conflicts_with_all = ["base", "rails", "streams"])]
    pub sweep: bool,
    /// Number of parallel streams in the measurement with several streams.
    #[arg(long, default_value_t = 4, value_name = "K", value_parser = value_parser!(u16).range(1..=32))]
    pub streams: u16,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// `garland ping`.
#[derive(Debug, ClapArgs)]
pub struct Ping {
    /// The nodes, such as 'n[1-2]': the first node sends requests to each of the others in turn.
    pub nodes: String,
    /// Bytes of an operation, such as 8 or 64KiB [default: 8].
    pub min: Option<String>,
    /// Double the size from MIN up to MAX.
    pub max: Option<String>,
    /// Operation to time.
    #[arg(short, long, value_enum, default_value = "get")]
    pub function: PingFunction,
    /// Operations in flight: N, or N..M for all doublings [default: 1; with --per-second 64].
    #[arg(short = 'b', long, value_name = "N", conflicts_with = "sweep")]
    pub in_flight: Option<String>,
    /// Operations for each line [default: until the median is known within 1 %].
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = value_parser!(u32).range(1..))]
    pub count: Option<u32>,
    /// Longest time for a line.
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = Nanos::parse_or_seconds)]
    pub time: Nanos,
    /// Start N operations a second (open loop), and measure each from its scheduled start.
    #[arg(long, alias = "rate", value_name = "N", conflicts_with = "sweep", value_parser = value_parser!(u32).range(1..))]
    pub per_second: Option<u32>,
    /// Sweep 1 to 64 in flight and many sizes: LogGP parameters, the knee, and the bottleneck
    /// there.
    #[arg(long)]
    pub sweep: bool,
    /// Transport of the operations.
    #[arg(long, value_enum, default_value = "tcp")]
    pub transport: PingTransportName,
    /// libfabric provider for --transport fabric, such as verbs, 'tcp;ofi_rxm' or shm [default: the
    /// first one that both nodes have and that reaches other machines].
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// How the first node waits for replies.
    #[arg(long, value_enum, default_value = "block")]
    pub wait: PingWaiting,
    /// State of the other nodes between requests [default: idle with --wait poll, else asleep].
    #[arg(long, value_enum)]
    pub target: Option<PingTarget>,
    /// Pin agents to these CPUs: one of the first node, and one of each of the others.
    #[arg(long, value_name = "CPU,CPU")]
    pub pin: Option<String>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

/// A kind of measurement of `garland disk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiskWord {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Blocks in order of their position.
    Sequential,
    /// Blocks at random positions.
    Random,
    /// Through the page cache.
    Buffered,
    /// Bypassing the page cache (O_DIRECT).
    Direct,
    /// Through the page cache, each write made stable.
    Stable,
}

/// An operation that `garland ping` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingFunction {
    /// Read bytes from the other node's memory; timed until they have arrived.
    Get,
    /// Write bytes to the other node's memory; timed until the write is acknowledged.
    Put,
    /// Send a message and receive its reply; the time is half the round trip.
    Msg,
}

/// A transport of `garland ping`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingTransportName {
    /// A TCP connection: the other CPU serves gets and puts.
    Tcp,
    /// Memory shared by the agents of one machine.
    Shm,
    /// A libfabric provider; needs libfabric on the nodes, and garland-fabric in garland's
    /// directory.
    Fabric,
}

/// How the first node waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingWaiting {
    /// Sleep in the kernel.
    Block,
    /// Busy-poll.
    Poll,
}

/// State of the other node between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PingTarget {
    /// The node busy-polls for requests.
    Idle,
    /// The node sleeps in the kernel.
    Asleep,
    /// The node sleeps, while other work keeps all of its CPUs busy.
    Busy,
}

/// `garland doctor`.
#[derive(Debug, ClapArgs)]
#[command(after_help = DOCTOR_HELP)]
pub struct Doctor {
    /// NODES[:PATH], where PATH is the destination of a copy [default: the base of relative paths].
    pub target: OsString,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

const DOCTOR_HELP: &str = "\
Each node is logged in to, and creates and removes an empty file in the directory of PATH, or where
a copy would make that directory. `copy` says what cp of a file to the same argument would do. Then
each node connects to the next one, as in a copy. A fault prevents a copy, a warning may slow it
down or affect others. The exit code is 4 if there is a fault, otherwise 1 if some nodes could not
be examined, 3 if none could.";

/// `garland disk`.
#[derive(Debug, ClapArgs)]
#[command(after_help = DISK_HELP)]
pub struct Disk {
    /// NODES[:PATH], where PATH is an existing directory [default: the base of relative paths].
    pub target: OsString,
    /// Size of the test file; no measurement moves more bytes.
    #[arg(long, default_value = "1GiB", value_name = "SIZE")]
    pub size: String,
    /// Longest time of each of about 20 measurements, without the final fsync.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    pub time: String,
    /// Most operations in flight.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub depth: u16,
    /// Measure only these combinations: read or write, sequential or random, buffered, direct or
    /// stable; such as random,write. Writing the file is always measured.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORDS")]
    pub only: Vec<DiskWord>,
    /// Test one node after the other, for nodes that share a disk or its link.
    #[arg(long)]
    pub one_by_one: bool,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

const DISK_HELP: &str = "\
The test writes only to a file of its own in PATH. The file has no name, so nothing is left behind,
however the test ends. The test leaves 5 % of the file system free, or 4 GiB if that is less;
a file of a hundredth of what is free is always taken.

Sequential operations are 1 MiB long, random operations 4 KiB. \"Cached\" operations use the page
cache: reads start with none of the file in it (checked with cachestat or mincore), and writes
end with fsync. Direct operations (O_DIRECT) bypass it with io_uring: 8 sequential operations in
flight, and random operations at depths 1, 2, 4 .. until a larger depth gives no higher rate (the
knee). Each stable write is followed by fdatasync.";
