//! A copy to nodes: plan, fleet, comparison, copy, result.

use std::time::Duration;

use garland_control::{Agent, Outcome};
use garland_core::cluster::Node;
use garland_core::plan::Plan;
use garland_fleet::builder::{Fleet, FleetBuilder};
use garland_protocol::copy::ClockFault;
use garland_results::copy_outcome::{Copied, CopyOutcome, Direction, Unchanged};
use garland_results::head::Phases;
use garland_results::names::HolderShare;
use garland_results::tree::TreeResult;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_terminal::failure::Failure;

use super::attempt::{Made, Stage};
use super::changes::Changes;
use super::incremental::{self, Reduced, Remaining};
use super::injections::{InjectedCopy, Injections};
use super::lane_count::{self, FirstWire};
use super::limit;
use super::observer::Observer;
use super::place::{Place, Target};
use super::planning::{self, Planned};
use super::reachability::{self, FittedPlan};
use super::session::{MadeCopy, Session};
use super::source::CopySource;
use super::spec::CopySpec;

/// A copy that is planned. No node has been contacted.
pub struct PlannedCopy<'a> {
    spec: &'a CopySpec,
    place: &'a Place,
    /// The path on the nodes.
    path: Vec<u8>,
    given: CopySource,
    planned: Planned,
    injections: Injections,
}

/// What a copy of a tree would change.
pub struct DryRun {
    /// The plan of the whole tree.
    pub plan: Plan,
    /// Why the nodes have this order; `None` if the user gave it.
    pub why: Option<String>,
    /// What of the source is read.
    pub tree: Option<TreeResult>,
    /// What would change; `None` if no node could be asked.
    pub changes: Option<Changes>,
    /// The nodes that could not be asked, and why.
    pub unasked: Vec<UnaskedNode>,
}

/// A node that could not be asked what would change.
pub struct UnaskedNode {
    /// The node's name.
    pub name: String,
    /// Why the node could not be asked.
    pub reason: String,
}

impl<'a> PlannedCopy<'a> {
    /// Plans a copy of `given` to `target`.
    ///
    /// # Errors
    /// When no plan can be made.
    pub fn new(
        given: CopySource,
        spec: &'a CopySpec,
        place: &'a Place,
        target: Target,
    ) -> Result<Self, Failure> {
        let planned = planning::plan(spec, &given, &target, place)?;
        let injected = InjectedCopy {
            plan: &planned.plan,
            is_tree: matches!(given, CopySource::Tree(_)),
            verifies: spec.checks.read_back.verify,
            is_shared: spec.plan.is_shared,
        };
        let injections = Injections::parse(&spec.plan.faults, &injected)?;
        Ok(Self { spec, place, path: target.path, given, planned, injections })
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.planned.plan
    }

    /// Fits the plan of a dry run to what earlier commands found: which nodes others do not reach,
    /// and by which network card.
    ///
    /// # Errors
    /// When records of standing agents cannot be read, or this machine would have to feed too many
    /// nodes.
    pub fn fit_as_expected(&mut self) -> Result<(), Failure> {
        if !self.may_be_fitted() {
            return Ok(());
        }
        let Planned { plan, nodes, .. } = &mut self.planned;
        *plan = reachability::expected(plan.clone(), nodes, self.place)?.plan;
        if let Some(to) = reachability::known_address(nodes, self.place)? {
            // Nobody was asked, so no time of a round trip is known.
            let first = FirstWire { to, round_trip: Duration::ZERO };
            *plan = lane_count::keep_up(plan.clone(), &first, self.spec, self.place);
        }
        Ok(())
    }

    /// Returns whether each node gets the whole source from any other.
    fn may_be_fitted(&self) -> bool {
        self.planned.stripes.is_none() && !self.spec.plan.is_shared
    }

    /// Returns why the nodes have this order; `None` if the user gave it.
    pub fn why(&self) -> Option<&str> {
        self.planned.why.as_deref()
    }

    /// Returns the source.
    pub fn source(&self) -> &CopySource {
        &self.given
    }

    /// Returns the names of the nodes, in the order of the plan.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.planned.nodes.iter().map(|node| node.name.as_str())
    }

    /// Begins the copy, and stores its plan and what `--resume` needs. `phases` began with the
    /// command.
    ///
    /// # Errors
    /// When these cannot be stored.
    pub fn begin(&self, phases: Phases) -> Result<Session<'a>, Failure> {
        let mut phases = phases;
        if let Some(until_ns) = self.planned.searched_until_ns {
            phases.end_at("search", until_ns);
        }
        let session = Session::begin(self.spec, self.place, phases)?;
        if !self.spec.run.is_dry {
            session.run.keep("plan.json", &self.planned.plan)?;
        }
        Ok(session)
    }

    /// Connects to the agents of the nodes; starts those that are missing.
    ///
    /// # Errors
    /// When none can be reached, or the user interrupts.
    pub fn assemble(&self, session: &mut Session<'a>) -> Result<Fleet, Failure> {
        let Self { spec, place, planned, path, injections, .. } = self;
        let begun = Begun { spec, place, path, clocks: &injections.clocks, run: &session.run };
        // Who joins late gets the same bytes; a stream cannot be read again for it, and a stripe
        // counts only with all others.
        let is_joinable = planned.stripes.is_none() && !planned.plan.layout.open;
        let goes_ahead = is_joinable && !spec.run.is_dry;
        session.assemble(&FleetBuilder { goes_ahead, ..begun.builder(&planned.nodes) })
    }

    /// Makes the copy on `fleet`, the agents of the plan's nodes, and reports its progress to
    /// `observer`. When all is copied, `close` gets the agents, and why others cannot be used, in
    /// the order of the result's nodes; the time of the result includes it. It returns what the
    /// holders of a name gave.
    ///
    /// # Errors
    /// When the copy cannot begin.
    pub fn make(
        self,
        mut session: Session<'a>,
        fleet: Fleet,
        observer: &mut dyn Observer,
        close: impl FnOnce(&mut Session<'a>, Fleet, &Outcome) -> Vec<HolderShare>,
    ) -> Result<MadeCopy, Failure> {
        let may_be_fitted = self.may_be_fitted();
        let Self { spec, place, path, given, planned, injections } = self;
        let Planned { nodes, plan, stripes, payload, encoding, .. } = planned;
        let mut fleet = fleet;
        let FittedPlan { plan, fed_here, reached } = match may_be_fitted {
            true => reachability::fit(plan, &mut fleet, place)?,
            false => FittedPlan::kept(plan),
        };
        let first = fleet.agents.iter().flatten().next().filter(|_| may_be_fitted);
        let first = first.and_then(|agent| {
            let round_trip = agent.connection.round_trip().unwrap_or_default();
            Some(FirstWire { to: agent.addresses.first()?.ip(), round_trip })
        });
        let plan = match first {
            Some(first) => lane_count::keep_up(plan, &first, spec, place),
            None => plan,
        };
        let by_ssh = names_by_ssh(&nodes, &fleet);
        let lab = place.lab.as_ref();
        let began_ns = session.phases.began_ns();
        let agents_started = fleet.children.have_any();
        let clocks = &injections.clocks;
        let begun = Begun { spec, place, path: &path, clocks, run: &session.run };
        let builder = begun.builder(&nodes);
        let transport = spec.transport(lab, plan.lanes.len());
        let limit = limit::of_copy(spec, place, &plan, payload, transport, &fleet.agents);
        let manifest = stripes.map(|stripes| given.manifest(&plan, stripes)).transpose()?;
        let ends = given.ends(spec, &path, manifest)?;
        let stage = Stage {
            spec,
            place,
            run: &session.run,
            builder: &builder,
            path: &path,
            stripes,
            transport,
            encoding,
            began_ns,
            faults: injections.faults,
            reached,
        };
        let copy = Remaining { given, ends, plan, agents: fleet.agents };
        let made = stage.make(copy, fleet.children, &mut session.phases, observer)?;
        let Made { given, plan, outcome, fleet, unchanged, unusable, unread, work, listener } =
            made;
        let plan = given.ended(plan, &outcome);
        keep(&session.run, &place.places, &given, &plan, &outcome)?;
        let holders = close(&mut session, fleet, &outcome);
        let made = session.close(Direction::Out, vec![Copied { plan, outcome }], limit);
        let outcome = CopyOutcome {
            unchanged: Unchanged { bytes: unchanged, is_all: given.is_bare() },
            unusable,
            unread,
            comparison: work,
            agents_started,
            path,
            is_off_disk: given.content().device().is_none(),
            by_ssh,
            fed_here,
            tree: given.tree(),
            holders,
            ..made.outcome
        };
        Ok(MadeCopy { outcome, listener, ..made })
    }

    /// Asks the agents in `fleet` what a copy of a tree would change on their nodes, and ends the
    /// fleet.
    ///
    /// # Errors
    /// When the comparison cannot be made, or the user interrupts.
    pub fn dry_run(self, mut session: Session<'a>, fleet: Fleet) -> Result<DryRun, Failure> {
        let spec = self.spec;
        let interrupts = &self.place.interrupts;
        let Planned { plan, why, .. } = self.planned;
        let tree = self.given.tree();
        let ends = self.given.ends(spec, &self.path, None)?;
        let copy = Remaining { given: self.given, ends, plan: plan.clone(), agents: fleet.agents };
        let Reduced { copy, changes, .. } =
            incremental::leave_out_unchanged(spec, copy, interrupts, &mut session.phases)?;
        let names = plan.nodes[1..].iter().map(|node| node.name.clone());
        let unasked = names.zip(copy.agents).filter_map(|(name, agent)| {
            let reason = agent.err()?;
            Some(UnaskedNode { name, reason })
        });
        let unasked = unasked.collect();
        let was_interrupted = interrupts.have_come();
        session.end_children(fleet.children, was_interrupted, |_| false);
        if was_interrupted {
            return Err(Failure::interrupted("comparing with the files on the nodes"));
        }
        Ok(DryRun { plan, why, tree, changes, unasked })
    }
}

/// A copy whose run has begun.
struct Begun<'a, 'b> {
    spec: &'a CopySpec,
    place: &'a Place,
    /// The path on the nodes.
    path: &'b [u8],
    clocks: &'a [(String, ClockFault)],
    run: &'b Run,
}

impl<'a> Begun<'a, '_> {
    /// Returns the builder of the copy's fleet on `nodes`.
    fn builder(&self, nodes: &'a [Node]) -> FleetBuilder<'a> {
        FleetBuilder {
            here: self.place.here.clone(),
            inventory: Some(&self.place.inventory),
            clocks: self.clocks,
            passes_output: self.path == b"-",
            ..self.place.builder(&self.spec.run, nodes, self.run)
        }
    }
}

/// Returns the names of the nodes whose agents are reached through ssh.
fn names_by_ssh(nodes: &[Node], fleet: &Fleet) -> Vec<String> {
    let nodes = nodes.iter().zip(&fleet.agents);
    let by_ssh = nodes.filter(|(_, agent)| agent.as_ref().is_ok_and(Agent::is_behind_login));
    by_ssh.map(|(node, _)| node.name.clone()).collect()
}

/// Stores the plan and the traces of a copy, and the digests of its source.
fn keep(
    run: &Run,
    places: &Places,
    given: &CopySource,
    plan: &Plan,
    outcome: &Outcome,
) -> Result<(), Failure> {
    run.keep("plan.json", plan)?;
    run.keep_traces(places, None, &outcome.traces);
    incremental::remember(given, plan, places, outcome.digests.as_deref());
    Ok(())
}
