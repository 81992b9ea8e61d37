//! `garland get`: copies the content of a name to nodes, from its holders.

use std::sync::Arc;

use garland_control::{AskedAgent, NamesPatience, NamesQuestion, Outcome, ask_names};
use garland_copy::command_line::CommandLine;
use garland_copy::place::{Place, Target};
use garland_copy::planned::PlannedCopy;
use garland_copy::session::{MadeCopy, Session};
use garland_copy::source::CopySource;
use garland_copy::spec::{CopySpec, SourceSpec};
use garland_core::cluster::nodelist::fold;
use garland_core::cluster::target as destination;
use garland_dataplane::tree::{ScanOptions, TreeSource};
use garland_fleet::builder::Fleet;
use garland_fleet::context::Context;
use garland_lab::Lab;
use garland_protocol::copy::Verdict;
use garland_protocol::names::{
    HolderKind, NameEntry, NameHolder, NameManifest, NameRecord, NamesOrder, check_name,
};
use garland_remote::elsewhere::refuse_as_destination;
use garland_results::copy::CopyResult;
use garland_results::head::Phases;
use garland_results::names::HolderShare;
use garland_showing::progress::CopyBars;
use garland_showing::tell::end_with;
use garland_state::places::Places;
use garland_sys::confine::Root;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};

use crate::access::Access;
use crate::args::Get;
use crate::content::{Holder, HolderFault, NamedSource};
use crate::follow::{self, Fetching};
use crate::keepers::{self, Keepers, Kept, UnservedHolder, unknown};

/// Copies the content of a name to nodes. Those that have it then are holders.
pub fn run(context: &Context, get: &Get) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    check_name(&get.name).map_err(Failure::usage)?;
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    let (access, place, target) = place(context, get, &interrupts)?;
    let access = Arc::new(access);
    refuse_streams(&target.path)?;
    let (entry, manifest) = find(&get.name, &access, &interrupts)?;
    let spec = copy_of(get, &manifest, &place);
    let fetching = Fetching::begin(&access, &entry, &manifest, &target, &interrupts)?;
    let before = fetching.as_ref().map_or(&[][..], Fetching::before);
    let holders =
        follow::find_holders(&access, &entry, &manifest, &target.nodes, before, &interrupts);
    let source = open_source(&entry, &manifest, holders, &interrupts)?;
    let given = as_given(&source, &manifest, &interrupts);
    let path = target.path.clone();
    let copy = PlannedCopy::new(given, &spec, &place, target)?;
    let names: Vec<String> = copy.nodes().map(str::to_owned).collect();
    let mut session = copy.begin(phases)?;
    let fleet = copy.assemble(&mut session)?;
    let mut found = Vec::new();
    let base = manifest.base.clone();
    let order = NamesOrder::Locate { path: path.clone(), base, is_tree: manifest.is_tree };
    let close = |session: &mut Session<'_>, fleet: Fleet, outcome: &Outcome| {
        let fleet = locate(fleet, outcome, &names, &order, access.patience(), &mut found);
        session.end(fleet, outcome);
        shares(&source)
    };
    let mut bars = CopyBars::new(context, &spec.run);
    let MadeCopy { outcome, run, listener: _listener } =
        copy.make(session, fleet, &mut bars, close)?;
    let result = CopyResult::new(&run, outcome);
    drop(fetching);
    let remembered = remember(&entry, &source, &manifest, found, &access, &interrupts);
    if let Some(failure) = remembered.err().filter(|_| !interrupts.have_come()) {
        let name = &get.name;
        garland_terminal::errln!(
            "the holders of {name} are listed as before: {}",
            failure.message()
        );
    }
    end_with(context, &spec, &path, &run, &result)
}

/// Returns an error if what is copied would not be a file or directory.
fn refuse_streams(path: &[u8]) -> Result<(), Failure> {
    // Files in memory lie below /dev, too.
    let is_device = path.starts_with(b"/dev/") && !path.starts_with(b"/dev/shm/");
    if destination::is_process(path) || is_device {
        let what = "garland get writes files and directories, no pipes and devices";
        return Err(Failure::usage(what).hint("get it as a file, and use garland exec to read it"));
    }
    Ok(())
}

/// Finds the agents that keep names, and where the content goes: to nodes, or to this machine.
fn place(
    context: &Context,
    get: &Get,
    interrupts: &Arc<Interrupts>,
) -> Result<(Access, Place, Target), Failure> {
    if let Ok(destination::Target::Local(path)) = destination::parse(&get.destination) {
        let access = Access::open(&Places::open()?, None)?;
        let (place, target) = Place::here(context, interrupts, &access.own_name(), &path)?;
        return Ok((access, place, target));
    }
    refuse_as_destination(&get.destination)?;
    let (place, target) = Place::enter(context, interrupts, &get.launch, &get.destination, true)?;
    let access = Access::open(&place.places, place.lab.as_ref().map(Lab::name))?;
    if access.member().is_some() {
        let why = "this machine is a node: it gets contents for itself";
        return Err(Failure::usage(why).hint(format!("garland get {} PATH", get.name)));
    }
    Ok((access, place, target))
}

/// Returns the copy of the content with the manifest `manifest`.
fn copy_of(get: &Get, manifest: &NameManifest, place: &Place) -> CopySpec {
    let source = SourceSpec { is_tree: manifest.is_tree, preserves: true, ..SourceSpec::default() };
    let mut spec = CopySpec::new(source, get.launch.clone());
    spec.tuning.link_limit = get.bwlimit;
    // To this machine the bytes leave no kernel.
    spec.tuning.is_sealed = place.here.is_none();
    spec.run.is_quiet = get.quiet;
    spec.run.reports_progress = get.progress.is_some();
    spec.run.keep_traces = get.keep_traces;
    spec.run.command_line = CommandLine::new(&get.words, &[], false);
    spec
}

/// Opens the content on its holders.
fn open_source(
    entry: &NameEntry,
    manifest: &NameManifest,
    holders: Vec<Holder>,
    interrupts: &Arc<Interrupts>,
) -> Result<Arc<NamedSource>, Failure> {
    let name = entry.record.name();
    if holders.is_empty() {
        return Err(Failure::nothing(format!("nothing holds the content of {name} any more"))
            .hint("publish it again"));
    }
    // Names that were published before may have other times.
    let kept = manifest.clone().with_kept_times(entry.record.number());
    Ok(Arc::new(NamedSource::open(name, kept, holders, interrupts)?))
}

/// Returns the content as the source of a copy.
fn as_given(
    source: &Arc<NamedSource>,
    manifest: &NameManifest,
    interrupts: &Interrupts,
) -> CopySource {
    if !manifest.is_tree {
        return CopySource::Elsewhere(source.clone());
    }
    let options = ScanOptions {
        excludes: Vec::new(),
        attributes: false,
        sweep: false,
        one_file_system: false,
        root: &Root::Free,
        stop: &|| interrupts.have_come(),
    };
    let objects = source.clone();
    let tree = TreeSource::of_objects(source.files(), objects, &manifest.base, &options);
    CopySource::Tree(Arc::new(tree))
}

/// Asks the nodes that have the content now by `order` where it lies, and adds them to `found`.
/// `names` are those of all nodes of the copy.
fn locate(
    fleet: Fleet,
    outcome: &Outcome,
    names: &[String],
    order: &NamesOrder,
    patience: &NamesPatience,
    found: &mut Vec<NameHolder>,
) -> Fleet {
    let Fleet { agents, children } = fleet;
    let has = |node: usize| outcome.nodes.get(node).is_some_and(|it| it.verdict == Verdict::Ok);
    // A node that does not answer is no holder; its copy is whole all the same.
    let mut asked = Vec::new();
    for (node, agent) in agents.into_iter().enumerate() {
        asked.push(AskedAgent { node: names.get(node).cloned().unwrap_or_default(), agent });
    }
    let Ok(replies) = ask_names(asked, NamesQuestion::new(order), patience, None) else {
        return Fleet { agents: Vec::new(), children };
    };
    let mut agents = Vec::new();
    for (node, reply) in replies.into_iter().enumerate() {
        if let (Some(name), Ok(answer), true) = (names.get(node), reply.answer, has(node)) {
            let path = answer.path;
            found.push(NameHolder { node: name.clone(), kind: HolderKind::Node, path });
        }
        agents.push(reply.agent);
    }
    Fleet { agents, children }
}

/// Returns what each holder has given, and why others were left alone.
fn shares(source: &NamedSource) -> Vec<HolderShare> {
    let holders = source.holders().into_iter();
    let shares = holders.map(|(holder, state)| {
        let reason = state.fault.and_then(|fault| match fault {
            HolderFault::Unread(reason) | HolderFault::Differs(reason) => Some(reason),
            HolderFault::Later => None,
        });
        HolderShare { node: holder.record.node.clone(), bytes: state.bytes, reason }
    });
    shares.filter(|share| share.bytes > 0 || share.reason.is_some()).collect()
}

/// Finds the name. The channels to the agents that keep it are closed before the copy, which may
/// take long.
fn find(
    name: &str,
    access: &Access,
    interrupts: &Interrupts,
) -> Result<(NameEntry, NameManifest), Failure> {
    let mut keepers = Keepers::open(access, interrupts)?;
    let entry = keepers.find(name)?.ok_or_else(|| unknown(name))?;
    let manifest = keepers.manifest(&entry)?;
    Ok((entry, manifest))
}

/// Has the agents of nodes serve the content from where it lies there now. Returns those that do.
fn served(
    entry: &NameEntry,
    manifest: &NameManifest,
    found: &[NameHolder],
    access: &Access,
    interrupts: &Interrupts,
) -> Result<Vec<NameHolder>, Failure> {
    let (manifest, _) = manifest.encode().map_err(Failure::nothing)?;
    let registered = keepers::register(access, entry, &manifest, found, interrupts)?;
    let told = |UnservedHolder { node, reason }| {
        garland_terminal::errln!("{node} does not serve the content to others: {reason}");
    };
    Ok(registered.into_iter().filter_map(|it| it.map_err(told).ok()).collect())
}

/// Has the agents of `holders`, which have just begun to serve a content, end that if its name has
/// ended meanwhile: who ended it could not know of them.
fn end_if_ended(
    entry: &NameEntry,
    holders: &[NameHolder],
    keepers: &mut Keepers<'_>,
    access: &Access,
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let latest = keepers.latest(entry.record.name())?.map(|latest| latest.record);
    let has_ended =
        |latest: &NameRecord| latest.content().is_none() && latest.is_newer_than(&entry.record);
    let Some(ended) = latest.filter(has_ended) else { return Ok(()) };
    let nodes: Vec<String> = holders.iter().map(|holder| holder.node.clone()).collect();
    if !nodes.is_empty() {
        let name = ended.name();
        let folded = fold(&nodes);
        garland_terminal::errln!("names: {name} has ended meanwhile; {folded} does not serve it");
    }
    keepers::end_serving(access, &[&ended], &nodes, interrupts)
}

/// Records which nodes hold the content now: those that got it (`found`) and have standing agents,
/// and not those whose content differs. If the name stands for other content by now, nothing is
/// recorded.
fn remember(
    entry: &NameEntry,
    source: &NamedSource,
    manifest: &NameManifest,
    found: Vec<NameHolder>,
    access: &Access,
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let is_standing =
        |it: &NameHolder| access.standing().iter().any(|record| record.name == it.node);
    let found: Vec<NameHolder> = found.into_iter().filter(is_standing).collect();
    if let Some((_, root)) = access.member() {
        // This node's agent resolves paths below its own root.
        let below =
            |it: NameHolder| Some(NameHolder { path: follow::below(root, &it.path)?, ..it });
        let found: Vec<NameHolder> = found.into_iter().filter_map(below).collect();
        let serving = served(entry, manifest, &found, access, interrupts)?;
        let mut keepers = Keepers::open(access, interrupts)?;
        let mut new = serving.iter().filter(|holder| !entry.holders.contains(holder));
        new.try_for_each(|holder| keepers.hold(entry, holder))?;
        return end_if_ended(entry, &serving, &mut keepers, access, interrupts);
    }
    let found = served(entry, manifest, &found, access, interrupts)?;
    // The sources are what the record says, until it is published again.
    let differing = source.holders().into_iter().filter_map(|(holder, state)| {
        let differs = matches!(state.fault, Some(HolderFault::Differs(_)));
        (differs && holder.is_node()).then_some(&holder.record)
    });
    let differing: Vec<&NameHolder> = differing.collect();
    let has = |entry: &NameEntry, holder: &NameHolder| entry.holders.contains(holder);
    let mut keepers = Keepers::open(access, interrupts)?;
    end_if_ended(entry, &found, &mut keepers, access, interrupts)?;
    if differing.is_empty() && found.iter().all(|holder| has(entry, holder)) {
        return Ok(());
    }
    let now = keepers.find(entry.record.name())?;
    let Some(mut now) = now.filter(|now| now.record == entry.record) else { return Ok(()) };
    now.holders.retain(|holder| !differing.contains(&holder));
    for holder in found {
        if !has(&now, &holder) {
            now.add(holder, |node| keepers.knows(node));
        }
    }
    match keepers.keep(&now, &[])? {
        Kept::ByTooFew(few) if few.is_kept_nowhere() => {
            Err(few.failure(now.record.name(), "get it again"))
        }
        // If it has changed meanwhile, there is nothing to record.
        Kept::By(_) | Kept::ByTooFew(_) | Kept::Newer(_) => Ok(()),
    }
}
