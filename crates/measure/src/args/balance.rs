//! Arguments of `garland balance`.

use std::ffi::OsString;

use clap::{Args as ClapArgs, value_parser};

use garland_fleet::args::Launch;

/// `garland balance`.
#[derive(Debug, ClapArgs)]
#[command(after_help = BALANCE_HELP)]
pub struct Balance {
    /// NODES[:PATH], an even number of nodes: the first two are a pair, and so on. PATH is an
    /// existing directory [default: where relative paths begin].
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
    /// Start with no file in the page cache; the default.
    #[arg(long, conflicts_with = "warm")]
    pub cold: bool,
    /// Start with all files in the page cache, so that disks only write.
    #[arg(long)]
    pub warm: bool,
    /// Do not wait for stable storage.
    #[arg(long)]
    pub no_fsync: bool,
    /// Do not encrypt: the data is readable on the network, and still authenticated.
    #[arg(long, alias = "clear")]
    pub no_encrypt: bool,
    /// Bytes of a block [default: by the size of the files].
    #[arg(long, value_name = "SIZE")]
    pub block_size: Option<String>,
    /// How agents are started.
    #[command(flatten)]
    pub launch: Launch,
}

const BALANCE_HELP: &str = "\
Each pair has one copy. All begin at once, and the time is over when all are done; so many of them are
remote, from one node's disk to its partner's, and the others local, within one node's disk. What
grows as more are remote, or falls, says whether disks or the network are the limit.

Remote and local copies are the same lanes of the same engine; a local one's hop is its node's own
loopback. Sources and copies are files without names: nothing is left behind, however the test ends.
Whether caches were cold or warm is proven by cachestat or mincore.";
