//! Arguments of `garland balance`.

use std::ffi::OsString;

use clap::{Args as ClapArgs, value_parser};
use garland_fleet::args::Launch;

/// `garland balance`.
#[derive(Debug, ClapArgs)]
#[command(after_help = BALANCE_HELP)]
pub struct Balance {
    /// NODES[:PATH], an even number of nodes: the first two are a pair, and so on. PATH is an
    /// existing directory [default: the base of relative paths].
    pub target: OsString,
    /// Sizes of the copied files.
    #[arg(long, default_value = "16MB,256MB", value_delimiter = ',', value_name = "SIZE,..")]
    pub sizes: Vec<String>,
    /// Numbers of remote copies [default: 0, 1, 2 .. all].
    #[arg(long, value_delimiter = ',', value_name = "K,..")]
    pub remote: Option<Vec<usize>>,
    /// Rounds of each measurement; the direction alternates.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = value_parser!(u16).range(1..=100))]
    pub rounds: u16,
    /// Start with none of the files in the page cache; the default.
    #[arg(long, conflicts_with = "warm")]
    pub cold: bool,
    /// Start with all files in the page cache, so that disks only write data.
    #[arg(long)]
    pub warm: bool,
    /// Do not wait for stable storage.
    #[arg(long)]
    pub no_fsync: bool,
    /// Do not encrypt: the data is readable on the network, but still authenticated.
    #[arg(long, alias = "clear")]
    pub no_encrypt: bool,
    /// Bytes of a block [default: depends on the size of the files].
    #[arg(long, value_name = "SIZE")]
    pub block_size: Option<String>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

const BALANCE_HELP: &str = "\
Each pair of nodes makes one copy. All copies start at once, and a round ends when the last copy is
done. K copies are remote, from one node's disk to its partner's; the others are local, within one
node's disk. Whether the total rate rises or falls with K shows whether disks or the network are the
bottleneck.

Remote and local copies use the same engine; a local copy goes over its node's loopback interface.
Sources and copies are files without names: nothing is left behind, however the test ends. cachestat
or mincore checks that the caches were cold or warm.";
