//! `garland cp` to nodes: plan, fleet, comparison, copy, result.

use std::ffi::OsStr;
use std::sync::Arc;

use garland_control::Outcome;
use garland_core::cluster::Node;
use garland_core::plan::Plan;
use garland_protocol::ClockFault;
use garland_sys::signal::Interrupts;

use super::attempt::{Made, Stage};
use super::command_line::CommandLine;
use super::incremental;
use super::incremental::Remaining;
use super::injections::Injections;
use super::limit;
use super::overtime::Overtime;
use super::planning::{self, Planned};
use super::site::{Site, Target};
use super::source::CopySource;
use super::spec::CopySpec;
use super::tell::{Unasked, Would, save, tell, tell_plan, tell_would};
use garland_fleet::builder::{Fleet, FleetBuilder};
use garland_fleet::context::Context;
use garland_fleet::join_listener::JoinListener;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::copied::Copied;
use garland_results::copy::{CopyResult, Direction, NodeResult};
use garland_results::head::{NodeVerdict, Phases};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// A copy that is planned. No node has been contacted.
pub struct PlannedCopy<'a> {
    spec: &'a CopySpec,
    site: &'a Site,
    interrupts: Arc<Interrupts>,
    phases: Phases,
    /// The path on the nodes.
    path: Vec<u8>,
    given: CopySource,
    planned: Planned,
    injections: Injections,
}

/// Copies a file, a tree, a stream or an object to every node.
pub fn run(context: &Context, spec: &CopySpec, destination: &OsStr) -> Result<Exit, Failure> {
    let phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    // A dry run that asks no node needs no lab.
    let needs_lab = !spec.run.is_dry || spec.run.names_entries;
    let (site, target) = Site::enter(context, &spec.run.launch, destination, needs_lab)?;
    spec.slow.refuse_unreachable(target.0.len())?;
    let copy = PlannedCopy::new((spec, &site), target, (&interrupts, phases))?;
    let (plan, path) = (&copy.planned.plan, copy.path.clone());
    save(spec, plan)?;
    if !names_changes(spec, &copy.given)? && spec.run.is_dry {
        let why = copy.planned.why.as_deref();
        return tell_plan((context, spec), plan, why, copy.given.tree().as_ref());
    }
    let run = copy.begin()?;
    let fleet = copy.assemble(context, &run)?;
    if spec.run.is_dry {
        return copy.dry_run(context, fleet);
    }
    let overtime = Overtime::watch("copying", &interrupts)?;
    let close = |fleet: Fleet, outcome: &Outcome| end(fleet, outcome, &overtime);
    let (result, _listener) = copy.make(context, &run, fleet, close)?;
    end_with(context, spec, &path, (&run, &result))
}

impl<'a> PlannedCopy<'a> {
    /// Opens the source of a copy to `path` on `nodes`, and plans the copy. Ctrl-C ends the command even if the
    /// disk does not respond.
    pub fn new(
        (spec, site): (&'a CopySpec, &'a Site),
        target: Target,
        (interrupts, phases): (&Arc<Interrupts>, Phases),
    ) -> Result<Self, Failure> {
        let open = |disk| CopySource::open(spec, interrupts, disk);
        Self::opening(open, spec, site, target, interrupts, phases)
    }

    /// Plans a copy as [`new`](Self::new) does. `open` opens the source, with the rate of an emulated disk in
    /// bytes per second.
    pub fn opening(
        open: impl FnOnce(Option<u64>) -> Result<CopySource, Failure>,
        spec: &'a CopySpec,
        site: &'a Site,
        target: Target,
        interrupts: &Arc<Interrupts>,
        phases: Phases,
    ) -> Result<Self, Failure> {
        let lab = site.lab.as_ref();
        let disk = lab.and_then(|lab| lab.disk(lab.head()).ok().flatten());
        let _overtime = Overtime::watch("opening the source", interrupts)?;
        let given = open(disk)?;
        Self::of(given, (spec, site), target, (interrupts, phases))
    }

    /// Plans a copy of `given` to `path` on `nodes`.
    pub fn of(
        given: CopySource,
        (spec, site): (&'a CopySpec, &'a Site),
        (nodes, path): Target,
        (interrupts, phases): (&Arc<Interrupts>, Phases),
    ) -> Result<Self, Failure> {
        let here = (&site.inventory, &site.places, site.lab.as_ref());
        let planned = planning::plan(spec, (&given, &path), &nodes, here)?;
        let injections = Injections::parse(&spec.plan.faults, &planned.plan)?;
        let interrupts = Arc::clone(interrupts);
        Ok(Self { spec, site, interrupts, phases, path, given, planned, injections })
    }

    /// Returns the names of the nodes, in the order of the plan.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.planned.nodes.iter().map(|node| node.name.as_str())
    }

    /// Begins the run of the copy, and stores the plan and what `--resume` needs. A dry run is no copy that
    /// could be resumed, and no copy's traces are removed for it.
    pub fn begin(&self) -> Result<Run, Failure> {
        let places = &self.site.places;
        let options = &self.spec.run;
        if options.is_dry {
            return Run::begin(places, "dry-run");
        }
        let run = Run::begin_keeping(places, "cp", options.keep_traces)?;
        run.keep("plan.json", &self.planned.plan)?;
        options.command_line.iter().try_for_each(|line| line.keep(&run))?;
        Ok(run)
    }

    /// Connects to the agents of the nodes; starts those that are missing.
    pub fn assemble(&self, context: &Context, run: &Run) -> Result<Fleet, Failure> {
        let (nodes, clocks) = (&self.planned.nodes, &self.injections.clocks);
        builder(context, (self.spec, self.site), (nodes, clocks), &self.interrupts, run).assemble()
    }

    /// Makes the copy on `fleet`, the agents of the plan's nodes, and shows its progress. When all is copied,
    /// `close` gets the agents, and why others cannot be used, in the order of the result's nodes; the time of the
    /// result includes it. Nodes that join read the result, so the listener must live until that is saved.
    pub fn make(
        self,
        context: &Context,
        run: &Run,
        fleet: Fleet,
        close: impl FnOnce(Fleet, &Outcome),
    ) -> Result<(CopyResult, Option<JoinListener>), Failure> {
        let Self { spec, site, interrupts, mut phases, path, given, planned, injections } = self;
        let Planned { nodes, plan, stripes, payload, encoding, .. } = planned;
        let Site { places, lab, .. } = site;
        let (lab, began_ns) = (lab.as_ref(), phases.last_ns());
        let builder =
            builder(context, (spec, site), (&nodes, &injections.clocks), &interrupts, run);
        let transport = spec.transport(lab, plan.lanes.len());
        let limit = limit::of_copy(spec, (lab, places), (&plan, payload), transport, &fleet.agents);
        let manifest = stripes.map(|stripes| given.manifest(&plan, stripes)).transpose()?;
        let ends = given.ends(spec, &path, manifest)?;
        let stage = Stage {
            context,
            spec,
            site,
            run,
            builder: &builder,
            interrupts: &interrupts,
            path: &path,
            stripes,
            transport,
            encoding,
            began_ns,
            faults: injections.faults,
        };
        let copy = Remaining { given, ends, plan, agents: fleet.agents };
        let made = stage.make(copy, fleet.children, &mut phases)?;
        let Made { given, plan, outcome, fleet, unchanged, unusable, unread, listener } = made;
        let plan = given.ended(plan, &outcome);
        keep((run, places), (&given, &plan), &outcome)?;
        close(fleet, &outcome);
        let result = CopyResult::new(run, Direction::Out, &[Copied { plan, outcome }], phases)
            .with_congestion(spec.tuning.congestion_in_force())
            .with_unchanged(unchanged, given.is_bare())
            .with_limit(limit)
            .with_before(unusable, unread)
            .with_path(&path)
            .with_source_off_disk(given.content().device().is_none())
            .with_read_back(spec.checks.read_back)
            .with_tree(given.tree());
        Ok((result, listener))
    }

    /// Prints the plan of a copy of a tree, and what it would change on the nodes.
    fn dry_run(mut self, context: &Context, fleet: Fleet) -> Result<Exit, Failure> {
        let spec = self.spec;
        let interrupts = self.interrupts;
        let Planned { plan, why, .. } = self.planned;
        let ends = self.given.ends(spec, &self.path, None)?;
        let copy = Remaining { given: self.given, ends, plan, agents: fleet.agents };
        let (tree, plan) = (copy.given.tree(), copy.plan.clone());
        let (copy, changes) =
            incremental::leave_out_unchanged(spec, copy, (&interrupts, &mut self.phases))?;
        let names = plan.nodes[1..].iter().map(|node| node.name.clone());
        let unasked =
            |(node, agent): (_, Result<_, _>)| Some(Unasked { node, reason: agent.err()? });
        let failed: Vec<Unasked> = names.zip(copy.agents).filter_map(unasked).collect();
        if interrupts.have_come() {
            fleet.children.end(HURRY, |_| false);
            return Err(Failure::interrupted("comparing with the files on the nodes"));
        }
        fleet.children.end(FAREWELL, |_| false);
        let would = Would { plan: &plan, changes: changes.as_ref(), failed: &failed };
        tell_would((context, spec), &would, why.as_deref(), tree.as_ref())?;
        Ok(Exit::of_work(failed.is_empty(), failed.len() + 1 < plan.nodes.len(), false))
    }
}

/// Returns the builder of the fleet of a copy to `nodes`.
fn builder<'a>(
    context: &Context,
    (spec, site): (&'a CopySpec, &'a Site),
    (nodes, clocks): (&'a [Node], &'a [(String, ClockFault)]),
    interrupts: &Arc<Interrupts>,
    run: &Run,
) -> FleetBuilder<'a> {
    let Site { inventory, places, lab, here } = site;
    let launch = &spec.run.launch;
    FleetBuilder {
        here: here.clone(),
        inventory: Some(inventory),
        interrupts: Some(Arc::clone(interrupts)),
        quiet: spec.run.is_quiet || context.json,
        clocks,
        ..FleetBuilder::new(nodes, inventory, places, launch, run, lab.as_ref())
    }
}

/// Returns whether each entry that changes is named.
fn names_changes(spec: &CopySpec, given: &CopySource) -> Result<bool, Failure> {
    let names = spec.run.names_entries && matches!(given, CopySource::Tree(_));
    if names && spec.ignores_status() {
        let why =
            "-v names what differs by size and time, not what --whole, --checksum or --verify send";
        return Err(Failure::usage(why).hint("omit -v, or the other option"));
    }
    Ok(names)
}

/// Stores the plan and the traces of a copy, and the digests of its source.
fn keep(
    (run, places): (&Run, &Places),
    (given, plan): (&CopySource, &Plan),
    outcome: &Outcome,
) -> Result<(), Failure> {
    run.keep("plan.json", plan)?;
    run.keep_traces(places, None, &outcome.traces);
    incremental::remember(given, plan, places, outcome.digests.as_deref());
    Ok(())
}

/// Stores and prints the result, and how the copy goes on if it was interrupted or nodes died. Returns the exit
/// code.
pub fn end_with(
    context: &Context,
    spec: &CopySpec,
    path: &[u8],
    (run, result): (&Run, &CopyResult),
) -> Result<Exit, Failure> {
    run.keep("result.json", result)?;
    tell(context, spec, path, result)?;
    let exit = result.exit(spec.slow.min_ok);
    let is_lost = |node: &NodeResult| !node.end.is_ok() && node.end.verdict != NodeVerdict::Failed;
    let goes_on = exit == Exit::Interrupted || result.nodes.iter().any(is_lost);
    if goes_on && !spec.run.is_quiet && !context.json {
        CommandLine::tell_how_to_resume(run);
    }
    Ok(exit)
}

/// Closes the channels of all agents, and waits for those that were started, except those that are silent.
pub fn end(fleet: Fleet, outcome: &Outcome, overtime: &Overtime) {
    let Fleet { agents, children } = fleet;
    drop(agents);
    overtime.end();
    let patience = if outcome.interrupted { HURRY } else { FAREWELL };
    children.end(patience, |at| outcome.nodes.get(at).is_some_and(|node| node.silent));
}
