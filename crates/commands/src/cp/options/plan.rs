//! Options that say in which order and by which way the data goes to the nodes.

use clap::Args as ClapArgs;
use garland_copy::spec::{PlanOptions, ShapeChoice};
use garland_core::plan::{LayoutError, RouteShape};
use garland_core::units::bytes;
use garland_terminal::failure::Failure;

use super::headings::{MORE, TUNING};
use super::kind::{BROADCAST, COPY, FILE, FROM_NODES, FROM_STRIPES, STREAM, STRIPES, TO_NODES};
use super::rule::{ONLY_TO_NODES, Rule};

/// The default unit of `--stripe`.
const DEFAULT_UNIT: &str = "1MiB";

/// The order of the nodes, and the way of the data.
#[derive(Clone, Debug, ClapArgs)]
pub struct PlanArgs {
    /// Spread one file over all nodes instead of copying it to each: units of UNIT bytes go round
    /// the nodes (or come from them), and each node keeps its part in PATH.stripe-KofN [default
    /// unit: 1MiB].
    #[arg(
        long,
        help_heading = MORE,
        hide_short_help = true,
        value_name = "UNIT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_UNIT,
        conflicts_with = "min_ok"
    )]
    pub stripe: Option<String>,
    /// Nodes see SOURCE themselves, at the same path, on a shared file system (NFS, Lustre): each
    /// reads a part of it, 16 nodes at most, and sends that to the others.
    ///
    /// This machine reads the parts of nodes that cannot see it, or that see another file.
    #[arg(
        long,
        conflicts_with_all = ["stripe", "tree", "whole", "shape"],
        help_heading = MORE,
        hide_short_help = true
    )]
    pub shared: bool,
    /// Order: list, rack, wires, or nodes.
    ///
    /// list is as in the node list, wires as `garland wires` last measured them: the fastest follow
    /// each other, slow ones come last. With auto, the fastest plan is searched if the wires are
    /// known: by the topology of a lab, or by what `garland wires` measured of these nodes in the
    /// last day. --shape, --rails and --block-size are part of the search unless they are given.
    /// Otherwise auto is list. `garland plan suggest` prints the same plan, and others.
    #[arg(long, default_value = "auto", value_name = "ORDER", hide_short_help = true)]
    pub order: String,
    /// Route of the data: chain (through all nodes), tree (each node feeds several others, or K:
    /// tree:K), twins (two trees), or auto, whichever is predicted to be faster.
    ///
    /// A chain sends the data over each wire once, whatever the number of nodes; but the first byte
    /// reaches the last node through all others, which dominates for small files and many nodes.
    /// Twins send half of the blocks through each of two trees: a node that feeds two others in one
    /// of them feeds nobody in the other, so the hops are few and each wire carries the data once.
    /// --dry-run prints the predictions.
    #[arg(
        long,
        value_parser = shape,
        default_value = "auto",
        conflicts_with = "stripe",
        value_name = "SHAPE",
        help_heading = TUNING,
        hide_short_help = true
    )]
    pub shape: ShapeChoice,
    /// Number of lanes, each over its own address of every node; lanes beyond the number of
    /// addresses share them [default: as many as all nodes have, times what a NIC of 25 Gbit/s and
    /// more needs; 1 if the NICs of a lab are bonded].
    #[arg(long, value_name = "K", help_heading = TUNING, hide_short_help = true)]
    pub rails: Option<u16>,
    /// Bytes of a block, such as 1MiB: the unit of reading, encrypting, sending and writing
    /// [default: by the size of the file].
    #[arg(
        long,
        visible_alias = "buffer-size",
        value_name = "SIZE",
        help_heading = TUNING,
        hide_short_help = true
    )]
    pub block_size: Option<String>,
    /// Make something slow or wrong on purpose, to test diagnosis. May be repeated.
    ///
    /// source-disk:17ms/10MiB stalls reading for 17 ms after every 10 MiB (../10MiB@0: the first
    /// time before the first byte); sink-disk:n2:17ms/10MiB stalls the writing of n2;
    /// fsync:n2:200ms delays its fsync, control:n2:11ms its answers; pause:17ms/10MiB stops the
    /// sender now and then; rot:n2:5MiB changes a byte of the file on the disk of n2 before
    /// --verify reads it; flip:5MiB changes a byte in the memory of the head after it was hashed;
    /// clock:n2:49s,100ppm sets the clock of n2 wrong (local and lab nodes without standing
    /// agents).
    #[arg(long, value_name = "FAULT", help_heading = TUNING, hide_short_help = true)]
    pub inject: Vec<String>,
}

pub const RULES: &[Rule] = &[
    Rule::new("stripe", STRIPES | FROM_STRIPES, ""),
    // With a stream, the option is refused later, when the source is opened.
    Rule::new(
        "shared",
        FILE | STREAM,
        "it applies only to one regular file of this machine, which nodes see at the same path",
    ),
    Rule::new("order", TO_NODES, "copies from nodes read from all nodes at once")
        .same(FROM_NODES, &["auto", "list"])
        .spooled(),
    Rule::new(
        "shape",
        BROADCAST & !STREAM,
        "in this copy no node feeds another, or the source is a stream, which always uses a chain",
    )
    .same(STREAM, &["auto", "chain"])
    .spooled(),
    Rule::everywhere("rails").spooled(),
    Rule::new(
        "block-size",
        COPY & !FROM_STRIPES,
        "stripes are read in blocks of the size in their manifest",
    )
    .spooled(),
    Rule::new("inject", TO_NODES, ONLY_TO_NODES)
        .not_spooled("an entry may go to any of the nodes; to test diagnosis, use garland cp"),
];

impl PlanArgs {
    /// Returns how the copy is planned.
    ///
    /// # Errors
    /// When a size cannot be parsed.
    pub fn spec(&self) -> Result<PlanOptions, Failure> {
        Ok(PlanOptions {
            order: self.order.clone(),
            shape: self.shape,
            rails: self.rails,
            block_size: self.block_size.as_deref().map(block_size).transpose()?,
            stripe_unit: self.stripe.as_deref().map(bytes::parse).transpose()?,
            is_shared: self.shared,
            faults: self.inject.clone(),
        })
    }
}

fn block_size(text: &str) -> Result<u32, Failure> {
    let size = bytes::parse(text)?;
    u32::try_from(size).map_err(|_| Failure::usage(LayoutError::BlockSize(size)))
}

/// Parses the value of `--shape`.
fn shape(text: &str) -> Result<ShapeChoice, &'static str> {
    let fanout = |text: &str| text.parse().ok().filter(|fanout| *fanout > 0);
    match (text, text.strip_prefix("tree:").map(fanout)) {
        ("auto", _) => Ok(ShapeChoice::Auto),
        ("chain", _) => Ok(ShapeChoice::Only(RouteShape::Chain)),
        ("twins", _) => Ok(ShapeChoice::Only(RouteShape::Twins)),
        ("tree", _) => Ok(ShapeChoice::Tree),
        (_, Some(Some(fanout))) => Ok(ShapeChoice::Only(RouteShape::of_fanout(fanout))),
        _ => Err("use auto, chain, tree, tree:K, such as tree:4, or twins"),
    }
}
