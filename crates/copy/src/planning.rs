//! Plans a copy to nodes: which blocks go over which lanes, and the routes of the lanes.

use garland_core::cluster::{Node, target};
use garland_core::plan::{Plan, Stripes};
use garland_predict::Payload;
use garland_protocol::copy::Encoding;
use garland_sys::clock;
use garland_terminal::failure::Failure;

use super::chain::Chain;
use super::handling::{handlings, plain, usual};
use super::place::{Place, Target};
use super::shape::{FastestPlan, shaped};
use super::source::CopySource;
use super::spec::{CopySpec, FASTEST_ORDER};
use crate::known_wires::{KnownWires, usual_lanes};

/// The maximum number of nodes that read parts of a shared source. Each part is a lane, which needs
/// a thread and memory on every node.
const READERS: u16 = 16;

/// The plan of a copy.
pub struct Planned {
    /// The nodes, in the order of the plan.
    pub nodes: Vec<Node>,
    /// The plan.
    pub plan: Plan,
    /// The stripes of a striped copy.
    pub stripes: Option<Stripes>,
    /// Why the nodes have this order; `None` if the user gave it.
    pub why: Option<String>,
    /// The form in which the bytes are expected to be sent.
    pub payload: Payload,
    /// The encoding of blocks that a copy that measures begins with.
    pub encoding: Encoding,
    /// When the search of the fastest order ended, in monotonic nanoseconds; `None` if none was
    /// made.
    pub searched_until_ns: Option<u64>,
}

/// Plans the copy of the source `given` to `target`. The usual number of lanes is that of
/// `--rails`, or else that of the nodes' addresses or of the lab's rails.
pub fn plan(
    spec: &CopySpec,
    given: &CopySource,
    target: &Target,
    place: &Place,
) -> Result<Planned, Failure> {
    let lab = place.lab.as_ref();
    let order = &spec.plan.order;
    let order = if order == FASTEST_ORDER { "list" } else { order };
    let chain = Chain::ordered(place, order, &target.nodes)?;
    let block = spec.plan.block_size;
    let rails = spec.plan.rails.unwrap_or_else(|| usual_lanes(&chain.nodes, lab));
    let names: Vec<String> = chain.nodes.iter().map(|node| node.name.clone()).collect();
    let payload = plain(spec);
    let encoding = Encoding::Plain;
    let searched_until_ns = None;
    if spec.plan.is_shared {
        let Chain { nodes, why } = chain;
        refuse_unshareable(given, &target.path)?;
        let layout = given.layout(block)?;
        let plan = Plan::shared(layout, &names, READERS, rails)?;
        let stripes = None;
        return Ok(Planned { nodes, plan, stripes, why, payload, encoding, searched_until_ns });
    }
    let Some(unit) = spec.plan.stripe_unit else {
        let known =
            KnownWires::between(&chain.nodes, &place.places, lab, spec.run.launch.sender())?;
        return broadcast(spec, given, chain, rails, known.as_ref());
    };
    let Chain { nodes, why } = chain;
    let stripes = Stripes::new(given.content().length(), unit, nodes.len())?;
    let layout = match block {
        None => stripes.fitting_layout(),
        Some(block) => stripes.layout(block),
    };
    let layout = layout?;
    let plan = Plan::striped(layout, stripes, &names, rails)?;
    let stripes = Some(stripes);
    Ok(Planned { nodes, plan, stripes, why, payload, encoding, searched_until_ns })
}

/// Plans a copy of the whole source to each node: as fast as is known, or else as the nodes are
/// listed.
fn broadcast(
    spec: &CopySpec,
    given: &CopySource,
    chain: Chain,
    rails: u16,
    known: Option<&KnownWires>,
) -> Result<Planned, Failure> {
    let Chain { nodes: listed, why } = chain;
    let stripes = None;
    let layout = given.layout(spec.plan.block_size)?;
    let fastest = known
        .and_then(|known| FastestPlan::find(spec, layout, rails, known, &handlings(spec, given)));
    let names = |nodes: &[Node]| nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
    let Some(fastest) = fastest else {
        let plan = shaped(spec, Plan::broadcast(layout, &names(&listed), rails)?)?;
        let payload = usual(spec, given);
        let encoding = Encoding::Plain;
        let nodes = listed;
        let searched_until_ns = None;
        return Ok(Planned { nodes, plan, stripes, why, payload, encoding, searched_until_ns });
    };
    let searched_until_ns = fastest.was_searched.then(clock::now_ns);
    let layout = given.layout(fastest.block_size.or(spec.plan.block_size))?;
    let nodes: Vec<Node> = fastest.order.iter().map(|&at| listed[at].clone()).collect();
    let plan = fastest.shaped(Plan::broadcast(layout, &names(&nodes), fastest.lanes)?)?;
    let FastestPlan { payload, encoding, .. } = fastest;
    let why = why.or(Some(fastest.why));
    Ok(Planned { nodes, plan, stripes, why, payload, encoding, searched_until_ns })
}

/// Returns an error for a shared copy unless the source is a regular file and the destination is a
/// file.
fn refuse_unshareable(given: &CopySource, path: &[u8]) -> Result<(), Failure> {
    let is_plain = given.file().is_some_and(|(path, _)| path.is_file());
    let wrong = if !is_plain {
        "--shared applies only to one regular file, which nodes see at the same path"
    } else if target::is_process(path) || path == b"/dev/null" {
        "--shared applies only to copies to files"
    } else {
        return Ok(());
    };
    Err(Failure::usage(wrong).hint("omit --shared"))
}
