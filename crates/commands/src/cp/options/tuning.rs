//! Options for memory, wires and traces.

use clap::Args as ClapArgs;
use garland_copy::spec::Tuning;
use garland_core::units::{Rate, bytes};
use garland_dataplane::compress::Packing;
use garland_protocol::copy::{Cut, Encoding};
use garland_terminal::failure::Failure;

use super::headings::{MORE, SAFETY, TUNING};
use super::kind::{BROADCAST, FROM_NODES, STRIPES};
use super::rule::{ONLY_TO_NODES, Rule};
use crate::args::words;

/// The maximum number of buffers of a lane.
const BUFFERS_MAX: i64 = garland_protocol::copy::BUFFERS_MAX as i64;

/// The values of `--compress`.
const COMPRESSION: &[(&str, Packing, &str)] = &[
    ("none", Packing::None, "Do not compress"),
    ("lz4", Packing::Lz4, "Fast"),
    ("zstd", Packing::Zstd, "Better ratio"),
    ("auto", Packing::Auto(Encoding::Plain), "Measure and choose"),
];

/// Memory, wires and traces.
#[derive(Clone, Debug, ClapArgs)]
pub struct TuningArgs {
    /// Compress blocks on the wire: zstd, lz4, or auto, which measures and takes the faster one, or
    /// neither.
    #[arg(
        long,
        value_parser = words(COMPRESSION),
        default_value = "none",
        value_name = "HOW",
        conflicts_with = "stripe",
        help_heading = MORE,
        hide_short_help = true
    )]
    pub compress: Packing,
    /// Cut a striped copy into operations of SIZE bytes, as pvfs2-cp did with 10MiB [default: one
    /// window over the whole file].
    #[arg(
        long,
        value_name = "SIZE",
        requires = "stripe",
        help_heading = MORE,
        hide_short_help = true
    )]
    pub op_size: Option<String>,
    /// Operations in progress beyond the oldest one; an operation ends when the servers have
    /// acknowledged it as written.
    #[arg(
        long,
        value_name = "N",
        requires = "op_size",
        default_value_t = 0,
        help_heading = MORE,
        hide_short_help = true
    )]
    pub op_overlap: u64,
    /// Data readable on the network, still authenticated.
    #[arg(long, alias = "clear", help_heading = SAFETY)]
    pub no_encrypt: bool,
    /// Limit every link, such as 100MB/s or 1gbit.
    ///
    /// A link is between two machines; with --rails there are as many links between neighbours,
    /// with --shape twins up to two from and to a node, with --stripe one to each server.
    #[arg(long, value_name = "RATE", conflicts_with = "mptcp")]
    pub bwlimit: Option<Rate>,
    /// Blocks that each lane may hold in memory, at each end [default: 4 MiB of them on the head
    /// and 24 MiB on a node, fewer if more would not help].
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=BUFFERS_MAX),
        help_heading = TUNING,
        hide_short_help = true
    )]
    pub buffers: Option<u16>,
    /// Congestion control of data links [default: cubic, else reno].
    #[arg(long, value_name = "NAME", help_heading = TUNING, hide_short_help = true)]
    pub congestion: Option<String>,
    /// Keep no trace, to measure what one costs.
    #[arg(long, hide = true)]
    pub no_trace: bool,
}

const ONLY_STRIPES: &str = "only a striped copy to nodes is cut into operations";

pub const RULES: &[Rule] = &[
    Rule::new("compress", BROADCAST, ONLY_TO_NODES).same(FROM_NODES, &["none"]).spooled(),
    Rule::new("op-size", STRIPES, ONLY_STRIPES),
    Rule::new("op-overlap", STRIPES, ONLY_STRIPES),
    Rule::everywhere("no-encrypt").spooled(),
    Rule::everywhere("bwlimit").spooled(),
    Rule::everywhere("buffers").spooled(),
    Rule::everywhere("congestion").spooled(),
    Rule::everywhere("no-trace").spooled(),
];

impl TuningArgs {
    /// Returns how memory and wires are used.
    ///
    /// # Errors
    /// When a size cannot be parsed.
    pub fn spec(&self) -> Result<Tuning, Failure> {
        let cut = |text: &String| match bytes::parse(text)? {
            0 => Err(Failure::usage("--op-size must be at least 1")),
            size => Ok(Cut { size, overlap: self.op_overlap }),
        };
        Ok(Tuning {
            link_limit: self.bwlimit,
            buffers: self.buffers,
            cut: self.op_size.as_ref().map(cut).transpose()?,
            congestion: self.congestion.clone(),
            packing: self.compress,
            is_sealed: !self.no_encrypt,
            is_traced: !self.no_trace,
        })
    }
}
