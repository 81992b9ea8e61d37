//! Determines which parts of a file or tree the nodes already have.

use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use garland_control::{Agent, CompareRequest, CompareSource, Ends, compare};
use garland_core::plan::Plan;
use garland_dataplane::block_index::Records;
use garland_dataplane::source::Content;
use garland_dataplane::tree::TreeSource;
use garland_protocol::copy::{Compare, CompareBy, Destination, TreeDestination};
use garland_protocol::operation::{ComparisonEnd, ComparisonWork, NodeChanges, SharedSource};
use garland_results::copy_outcome::UnreadPart;
use garland_results::head::Phases;
use garland_state::places::Places;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Failure, OrFailure};

use crate::changes::Changes;
use crate::place::Place;
use crate::source::CopySource;
use crate::spec::{Comparison, CopySpec};

/// The operation in errors of a comparison.
const COMPARING: &str = "comparing with the files on the nodes";

/// The state of a copy after the source was compared with the files on the nodes.
pub struct Before {
    /// The copy that is left. If a tree was compared by contents, its plan has only one lane.
    pub copy: Remaining,
    /// What changes on the nodes, if it was asked for (`--verbose`).
    pub changes: Option<Changes>,
    /// The length in bytes of what was left out, because all nodes have it.
    pub unchanged: u64,
    /// The digests of the source's blocks, if a node has a file or tree to compare with the source.
    pub digests: Option<Vec<[u8; 32]>>,
    /// The names of the nodes on which the remains of an interrupted copy cannot be used.
    pub unusable: Vec<String>,
    /// The names of the nodes that could not read their part of a shared source, with the reasons.
    pub unread: Vec<UnreadPart>,
    /// Who worked when for the comparison; nodes in the order of the agents.
    pub work: Vec<ComparisonWork>,
}

/// A copy without what all nodes are known to have by the status of files.
pub struct Reduced {
    /// The copy that is left.
    pub copy: Remaining,
    /// What changes on the nodes, if it was asked for (`--verbose`).
    pub changes: Option<Changes>,
    /// Who worked when for the comparison; nodes in the order of the agents.
    pub work: Vec<ComparisonWork>,
    /// Whether no node has anything at the destination: there are no contents to compare.
    pub is_new: bool,
}

impl Reduced {
    /// Returns a copy of which nothing was left out, since the status of files was not compared.
    fn whole(copy: Remaining) -> Self {
        Self { copy, changes: None, work: Vec::new(), is_new: false }
    }
}

/// A copy, without the entries of a tree that all nodes are known to have.
pub struct Remaining {
    /// The source.
    pub given: CopySource,
    /// The source and destination of the copy.
    pub ends: Ends,
    /// The plan of the copy.
    pub plan: Plan,
    /// The agents, in the order in which they were passed.
    pub agents: Vec<Result<Agent, String>>,
}

/// Leaves out the entries of a tree that all nodes have, by the status of files: as with rsync, a
/// file of the same size and modification time is not read. If there are such entries, the set-up
/// phase ends at the start of the comparison.
pub fn leave_out_unchanged(
    spec: &CopySpec,
    copy: Remaining,
    interrupts: &Arc<Interrupts>,
    phases: &mut Phases,
) -> Result<Reduced, Failure> {
    let Remaining { given, ends, plan, agents } = copy;
    let began_ns = clock::now_ns();
    let (
        CopySource::Tree(tree),
        Ends::Out { destination: Destination::Tree(destination), .. },
        false,
    ) = (&given, &ends, spec.ignores_status())
    else {
        return Ok(Reduced::whole(Remaining { given, ends, plan, agents }));
    };
    let by = CompareBy::Status { rule: spec.status_rule(), named: spec.run.names_entries };
    let Some(outline) = tree_compare(tree, destination, &plan, by) else {
        return Ok(Reduced::whole(Remaining { given, ends, plan, agents }));
    };
    let asked = CompareSource::Tree(tree);
    let shared = None;
    let asking = CompareRequest { compare: outline, asked, shared, interrupts: Some(interrupts) };
    let (agents, ComparisonEnd { unchanged, changes, work, found_something, .. }) =
        compare(agents, &asking).or_nothing(COMPARING)?;
    let is_new = !found_something;
    let changes = changes.and_then(|changes| named(spec, tree, &plan, &agents, changes));
    let Some(unchanged) = unchanged else {
        let copy = Remaining { given, ends, plan, agents };
        return Ok(Reduced { copy, changes, work, is_new });
    };
    phases.end_at("set-up", began_ns);
    let left = tree.without(&unchanged).or_nothing("cannot leave out what the nodes have")?;
    let plan = plan.ended_at(left.length());
    let left = Arc::new(left);
    let destination = Destination::Tree(destination.clone());
    let source = Arc::<TreeSource>::clone(&left);
    let ends = Ends::Out { source, destination, manifest: None };
    let copy = Remaining { given: CopySource::Tree(left), ends, plan, agents };
    Ok(Reduced { copy, changes, work, is_new })
}

/// Returns what changes on the nodes that have answered; `None` if none has.
fn named(
    spec: &CopySpec,
    tree: &TreeSource,
    plan: &Plan,
    agents: &[Result<Agent, String>],
    changes: Vec<NodeChanges>,
) -> Option<Changes> {
    let names = plan.nodes[1..].iter().map(|node| node.name.as_str());
    let nodes = names.zip(changes).zip(agents);
    let answered: Vec<_> = nodes.filter(|(_, agent)| agent.is_ok()).map(|(node, _)| node).collect();
    (!answered.is_empty()).then(|| Changes::new(tree, &answered, spec.source.removes_max))
}

/// Asks the agents which parts of the source their nodes already have. Only a file that is copied
/// to a file, and a tree that is copied to a directory, are compared. If a node has something to
/// compare, the set-up phase ends at the start of the comparison.
pub fn compare_first(
    spec: &CopySpec,
    copy: Remaining,
    place: &Place,
    phases: &mut Phases,
) -> Result<Before, Failure> {
    let length = copy.plan.layout.length;
    let Reduced { copy, changes, mut work, is_new } =
        leave_out_unchanged(spec, copy, &place.interrupts, phases)?;
    let unchanged = length.saturating_sub(copy.plan.layout.length);
    let Remaining { given, ends, plan, agents } = copy;
    let began_ns = clock::now_ns();
    let records = place.places.records();
    let comparison = find_comparison(spec, &given, &ends, &plan, &records).filter(|_| !is_new);
    let Some((outline, asked)) = comparison else {
        return Ok(Before {
            copy: Remaining { given, ends, plan, agents },
            changes,
            unchanged,
            digests: None,
            unusable: Vec::new(),
            unread: Vec::new(),
            work,
        });
    };
    let shared = find_shared(&given, &plan)?;
    let asking =
        CompareRequest { compare: outline, asked, shared, interrupts: Some(&place.interrupts) };
    let (agents, ComparisonEnd { digests, unusable, unread, work: of_contents, .. }) =
        compare(agents, &asking).or_nothing(COMPARING)?;
    work.extend(of_contents);
    if digests.is_some() && !phases.has("set-up") {
        phases.end_at("set-up", began_ns);
    }
    let name = |place: usize| plan.nodes[place + 1].name.clone();
    let part = |(place, reason)| UnreadPart { node: name(place), reason };
    let unread = unread.into_iter().map(part).collect();
    let unusable = unusable.into_iter().map(name).collect();
    // A tree is read in order, file by file. Over several lanes, if different blocks are missing on
    // different nodes, two lanes could wait for each other.
    let plan = match &given {
        CopySource::Tree(_) if digests.is_some() => plan.by_one_lane(),
        _ => plan,
    };
    let copy = Remaining { given, ends, plan, agents };
    Ok(Before { copy, changes, unchanged, digests, unusable, unread, work })
}

/// Returns the parts of a shared source that nodes read themselves; `None` if the source is not
/// shared.
fn find_shared(given: &CopySource, plan: &Plan) -> Result<Option<SharedSource>, Failure> {
    let Some((path, source)) = given.file().filter(|_| plan.is_shared) else { return Ok(None) };
    let path = std::path::absolute(path).or_nothing("cannot make the source's path absolute")?;
    Ok(Some(SharedSource {
        path: path.into_os_string().into_vec(),
        modified: source.modified(),
        parts: plan.receivers().map(|(id, _)| plan.part_read_by(id)).collect(),
    }))
}

/// Returns the source and destination to compare; `None` if there is nothing to compare.
fn find_comparison<'a>(
    spec: &CopySpec,
    given: &'a CopySource,
    ends: &Ends,
    plan: &Plan,
    records: &'a Records,
) -> Option<(Compare, CompareSource<'a>)> {
    let Ends::Out { destination, .. } = ends else { return None };
    let layout = plan.layout;
    let is_sent_whole = spec.checks.comparison == Comparison::None || spec.plan.is_striped();
    match (given, destination) {
        _ if is_sent_whole || layout.length == 0 => None,
        (given, Destination::File { path, name, .. }) => {
            let source = match given {
                CopySource::File(_, source) => CompareSource::File(source, records),
                CopySource::Elsewhere(file) => CompareSource::Known(file.digests(layout)?),
                CopySource::Tree(_) | CopySource::Stream(..) => return None,
            };
            let path = path.clone();
            let name = name.clone();
            let is_read =
                spec.checks.comparison == Comparison::Contents || spec.checks.read_back.verify;
            let by = if is_read { CompareBy::Bytes } else { CompareBy::Contents };
            Some((Compare { path, name, layout, tree: None, by, shared: None }, source))
        }
        // A comparison by blocks would read each object twice.
        (CopySource::Tree(tree), _) if tree.is_of_objects() => None,
        (CopySource::Tree(tree), Destination::Tree(destination)) => {
            let by = match spec.ignores_status() {
                true => CompareBy::Contents,
                false => CompareBy::Differing(spec.checks.window),
            };
            let compare = tree_compare(tree, destination, plan, by)?;
            Some((compare, CompareSource::Tree(tree)))
        }
        _ => None,
    }
}

/// Returns the comparison of `tree` with what is at `destination`; `None` if they cannot be
/// compared.
fn tree_compare(
    tree: &TreeSource,
    destination: &TreeDestination,
    plan: &Plan,
    by: CompareBy,
) -> Option<Compare> {
    Some(Compare {
        path: destination.path.clone(),
        name: Vec::new(),
        layout: plan.layout,
        tree: Some(tree.outline()?),
        by,
        shared: None,
    })
}

/// Records the digests of the source's blocks, so that the next copy of the source need not compute
/// them. Those of a shared source are what nodes have read, or say that they have.
pub fn remember(given: &CopySource, plan: &Plan, places: &Places, digests: Option<&[[u8; 32]]>) {
    let source = given.file().filter(|_| plan.layout.length > 0 && !plan.is_shared);
    if let (Some((_, source)), Some(digests)) = (source, digests) {
        source.remember(&places.records(), plan.layout, digests);
    }
}
