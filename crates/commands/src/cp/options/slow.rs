//! Options that say what is done when nodes are slow or fail.

use std::error::Error;

use clap::Args as ClapArgs;
use garland_copy::spec::SlowOptions;
use garland_core::cluster::parse_dead_after;
use garland_core::units::Nanos;
use garland_protocol::copy::SlowNodes;

use super::headings::SLOW;
use super::kind::{BROADCAST, COPY, FROM_STRIPES, STREAM, STRIPES};
use super::rule::Rule;
use crate::args::words;

/// The values of `--on-slow`.
const ON_SLOW: &[(&str, SlowNodes, &str)] = &[
    ("detach", SlowNodes::Detach, "Feed them on the side"),
    ("wait", SlowNodes::Wait, "Let the others wait"),
    ("fail", SlowNodes::Fail, "Fail them"),
];

/// When nodes are slow or fail.
#[derive(Clone, Debug, ClapArgs)]
pub struct SlowArgs {
    /// Slow nodes: detach, wait or fail.
    ///
    /// A node whose wire, machine or disk slows the others down is fed on the side (detach), waited
    /// for (wait), or failed (fail). Detached nodes still receive the whole file, and the command
    /// waits for them; Ctrl-C then ends only their part.
    #[arg(
        long,
        alias = "slow",
        value_parser = words(ON_SLOW),
        default_value = "detach",
        hide_possible_values = true,
        value_name = "ACTION",
        help_heading = SLOW
    )]
    pub on_slow: SlowNodes,
    /// A node is slow if it takes less than this share of the rate that the others reach without
    /// it.
    #[arg(
        long,
        default_value = "50%",
        value_name = "SHARE",
        value_parser = share,
        help_heading = SLOW,
        hide_short_help = true
    )]
    pub slow_below: u16,
    /// Fail a node whose disk or file server has not answered for this long: no call returned, and
    /// the kernel shows no progress [minimum: 5s; an fsync has 1 s more for every 5 MB].
    ///
    /// After 5 s the node is named and treated like a slow one (see --on-slow).
    #[arg(
        long,
        default_value = "60s",
        value_name = "TIME",
        value_parser = stuck_after,
        help_heading = SLOW,
        hide_short_help = true
    )]
    pub stuck_after: u64,
    /// How long a silent node is waited for [default: 5s].
    ///
    /// Or dead_after of the cluster file; 2s at least. After 1.2 s of silence the others are fed
    /// past the node; it is taken back in when it speaks again.
    #[arg(long, value_name = "TIME", value_parser = parse_dead_after, help_heading = SLOW)]
    pub dead_after: Option<Nanos>,
    /// Exit with 0 if at least N nodes have the file.
    #[arg(long, value_name = "N", help_heading = SLOW)]
    pub min_ok: Option<usize>,
}

const NONE_APART: &str = "no node can be fed on the side in this copy: each node has a different part, or the source can be read only once";

pub const RULES: &[Rule] = &[
    Rule::new("on-slow", BROADCAST & !STREAM, NONE_APART)
        .same(STREAM | STRIPES, &["wait"])
        .spooled(),
    Rule::new("slow-below", BROADCAST & !STREAM, NONE_APART).spooled(),
    Rule::everywhere("stuck-after").spooled(),
    Rule::everywhere("dead-after").spooled(),
    Rule::new("min-ok", COPY & !STRIPES & !FROM_STRIPES, "")
        .not_spooled("an entry waits until all nodes have it, and those behind it go on meanwhile"),
];

impl SlowArgs {
    /// Returns what is done with such nodes.
    pub fn spec(&self) -> SlowOptions {
        SlowOptions {
            action: self.on_slow,
            below: self.slow_below,
            stuck_after: self.stuck_after,
            dead_after: self.dead_after,
            min_ok: self.min_ok,
        }
    }
}

/// Parses a percentage from 0.1 to 90, such as `50%` or `12.5`; returns thousandths.
fn share(text: &str) -> Result<u16, &'static str> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse::<f64>();
    let percent = percent.ok().filter(|percent| (0.1..=90.0).contains(percent));
    let thousandths = percent.map(|percent| (percent * 10.0).round() as u16);
    thousandths.ok_or("a share must be from 0.1% to 90%")
}

/// Parses a time of at least 5 s, such as `60s` or `10min`; returns nanoseconds.
fn stuck_after(text: &str) -> Result<u64, Box<dyn Error + Send + Sync>> {
    const LEAST: u64 = 5_000_000_000;
    let Nanos(time) = text.parse()?;
    Some(time).filter(|time| *time >= LEAST).ok_or_else(|| "the minimum is 5s".into())
}
