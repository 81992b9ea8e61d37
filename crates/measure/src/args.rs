//! The words of the commands that measure: wires, ping and disk.

mod balance;

use std::ffi::OsString;

use clap::{Args as ClapArgs, ValueEnum, value_parser};

pub use self::balance::Balance;
use garland_fleet::args::Launch;

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
    pub transport: PingTransportName,
    /// With --transport fabric, libfabric's provider, such as verbs, 'tcp;ofi_rxm' or shm [default:
    /// the first that both nodes have and that reaches other machines].
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
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

/// A kind of measurement of `garland disk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiskWord {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
    /// One block after the other.
    Sequential,
    /// Blocks anywhere in the file.
    Random,
    /// Through the page cache.
    Buffered,
    /// Past the page cache.
    Direct,
    /// Through the page cache, each write made stable.
    Stable,
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
pub enum PingTransportName {
    /// A TCP connection: the other CPU serves gets and puts.
    Tcp,
    /// Memory that agents of one machine share.
    Shm,
    /// A provider of libfabric's, which must be on the nodes, with garland-fabric beside garland.
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
    /// Measure only these: one of read and write, of sequential and random, of buffered, direct and
    /// stable, or of several of the three, such as random,write. Writing the file is measured in any
    /// case.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WORDS")]
    pub only: Vec<DiskWord>,
    /// One node after the other: where nodes share a disk, or what it is attached by.
    #[arg(long)]
    pub one_by_one: bool,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

const DISK_HELP: &str = "\
The test writes only to a file of its own in PATH. It has no name, and is gone with the test however
that ends. A twentieth of the file system stays free (4 GiB at most).

Sequential operations have 1 MiB, random ones 4 KiB. \"Cached\" ones go through the page cache: reads
begin without any of the file in it, which is proven by cachestat or mincore, and writes end with
fsync. Direct ones (O_DIRECT) go past it by io_uring, sequential ones 8 at once, random ones at depths
1, 2, 4 .. until more brings nothing: the knee. Stable writes are each followed by fdatasync.";
