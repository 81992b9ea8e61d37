//! Determines which parts of a file or tree the nodes already have.

use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use garland_control::{Agent, CompareRequest, CompareSource, Ends, compare};
use garland_core::plan::Plan;
use garland_dataplane::Records;
use garland_protocol::operation::{ComparisonEnd, SharedSource};
use garland_protocol::{Compare, Destination};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::cp::request::CopyRequest;
use crate::cp::source::CopySource;
use garland_results::head::Phases;
use garland_results::places::Places;
use garland_terminal::failure::{Failure, OrFailure};

/// The state of a copy after the source was compared with the files on the nodes.
pub struct Before {
    /// The plan of the copy. If a tree was compared, the plan has only one lane.
    pub plan: Plan,
    /// The agents, in the order in which they were passed.
    pub agents: Vec<Result<Agent, String>>,
    /// The digests of the source's blocks, if a node has a file or tree to compare with the source.
    pub digests: Option<Vec<[u8; 32]>>,
    /// The names of the nodes on which the remains of an interrupted copy cannot be used.
    pub unusable: Vec<String>,
    /// The names of the nodes that could not read their part of a shared source, with the reasons.
    pub unread: Vec<(String, String)>,
}

/// Asks `agents` which parts of the source `given` their nodes already have. Only a file that is
/// copied to a file, and a tree that is copied to a directory, are compared. If a node has
/// something to compare, the set-up phase ends at the start of the comparison.
pub fn compare_first(
    request: &CopyRequest<'_>,
    given: &CopySource,
    ends: &Ends,
    plan: Plan,
    agents: Vec<Result<Agent, String>>,
    (places, interrupts, phases): (&Places, &Arc<Interrupts>, &mut Phases),
) -> Result<Before, Failure> {
    let began_ns = clock::now_ns();
    let records = places.records();
    let Some((outline, asked)) = asked(request, given, ends, &plan, &records) else {
        return Ok(Before {
            plan,
            agents,
            digests: None,
            unusable: Vec::new(),
            unread: Vec::new(),
        });
    };
    let shared = shared(given, &plan)?;
    let asking = CompareRequest { compare: outline, asked, shared, interrupts: Some(interrupts) };
    let (agents, ComparisonEnd { digests, unusable, unread }) =
        compare(agents, &asking).or_nothing("comparing with the files on the nodes")?;
    if digests.is_some() {
        phases.end_at("set-up", began_ns);
    }
    let name = |place: usize| plan.nodes[place + 1].name.clone();
    let unread = unread.into_iter().map(|(place, reason)| (name(place), reason)).collect();
    let unusable = unusable.into_iter().map(name).collect();
    // A tree is read in order, file by file. Over several lanes, if different blocks are missing on
    // different nodes, two lanes could wait for each other.
    let plan = match given {
        CopySource::Tree(_) if digests.is_some() => plan.by_one_lane(),
        _ => plan,
    };
    Ok(Before { plan, agents, digests, unusable, unread })
}

/// Returns the parts of a shared source that nodes read themselves; `None` if the source is not
/// shared.
fn shared(given: &CopySource, plan: &Plan) -> Result<Option<SharedSource>, Failure> {
    let Some((path, source)) = given.file().filter(|_| plan.is_shared) else { return Ok(None) };
    let path = std::path::absolute(path).or_nothing("making the source's path absolute")?;
    Ok(Some(SharedSource {
        path: path.into_os_string().into_vec(),
        modified: source.modified(),
        parts: plan.receivers().map(|(id, _)| plan.part_read_by(id)).collect(),
    }))
}

/// Returns the source and destination to compare; `None` if there is nothing to compare.
fn asked<'a>(
    request: &CopyRequest<'_>,
    given: &'a CopySource,
    ends: &Ends,
    plan: &Plan,
    records: &'a Records,
) -> Option<(Compare, CompareSource<'a>)> {
    let Ends::Out { destination, .. } = ends else { return None };
    let layout = plan.layout;
    match (given, destination) {
        _ if request.args.whole || request.args.stripe.is_some() || layout.length == 0 => None,
        (CopySource::File(_, source), Destination::File { path, name, .. }) => {
            let (path, name) = (path.clone(), name.clone());
            let outline = Compare { path, name, layout, tree: None, shared: None };
            Some((outline, CompareSource::File(source, records)))
        }
        (CopySource::Tree(tree), Destination::Tree(destination)) => {
            let (name, outline) = (Vec::new(), Some(tree.outline()?));
            let path = destination.path.clone();
            let outline = Compare { path, name, layout, tree: outline, shared: None };
            Some((outline, CompareSource::Tree(tree)))
        }
        _ => None,
    }
}

/// Records the digests of the source's blocks, so that the next copy of the source need not compute
/// them.
pub fn remember(given: &CopySource, plan: &Plan, places: &Places, digests: Option<&[[u8; 32]]>) {
    let source = given.file().filter(|_| plan.layout.length > 0);
    if let (Some((_, source)), Some(digests)) = (source, digests) {
        source.remember(&places.records(), plan.layout, digests);
    }
}
