//! A copy from its beginning to its end, to nodes and from them alike: its run, its phases, and
//! what ends it after Ctrl-C even if something hangs.

use garland_control::Outcome;
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::join_listener::JoinListener;
use garland_fleet::launch::{END_TIMEOUT, INTERRUPTED_END_TIMEOUT};
use garland_results::copy_outcome::{Copied, CopyOutcome, Direction, Unchanged};
use garland_results::head::Phases;
use garland_results::limit::Limit;
use garland_state::run::Run;
use garland_terminal::failure::Failure;

use super::overtime::Overtime;
use super::place::Place;
use super::spec::CopySpec;

/// A copy that has begun.
pub struct Session<'a> {
    /// What is copied, and how.
    pub spec: &'a CopySpec,
    /// From where.
    pub place: &'a Place,
    /// The directory of the copy's run.
    pub run: Run,
    /// The phases until now.
    pub phases: Phases,
    /// Set once there are agents.
    overtime: Option<Overtime>,
}

/// A copy that was made, well or not.
pub struct MadeCopy {
    /// All that is known of it.
    pub outcome: CopyOutcome,
    /// The directory of its run, in which the result is not stored yet.
    pub run: Run,
    /// Nodes that join read the result, so it must live until that is stored.
    pub listener: Option<JoinListener>,
}

impl<'a> Session<'a> {
    /// Begins the run of a copy, and stores what `--resume` needs. A dry run is no copy that could
    /// be resumed, and no copy's traces are removed for it.
    ///
    /// # Errors
    /// When these cannot be stored.
    pub fn begin(spec: &'a CopySpec, place: &'a Place, phases: Phases) -> Result<Self, Failure> {
        let options = &spec.run;
        let run = match options.is_dry {
            true => Run::begin(&place.places, "dry-run")?,
            false => Run::begin_keeping(&place.places, "cp", options.keep_traces)?,
        };
        let kept = options.command_line.iter().filter(|_| !options.is_dry);
        kept.into_iter().try_for_each(|line| line.keep(&run))?;
        Ok(Self { spec, place, run, phases, overtime: None })
    }

    /// Starts the agents of `builder`, or finds them. From then on the command ends soon after
    /// Ctrl-C, also if a disk of this machine hangs.
    ///
    /// # Errors
    /// When no agent can be reached, or the user interrupts.
    pub fn assemble(&mut self, builder: &FleetBuilder<'_>) -> Result<Fleet, Failure> {
        let fleet = builder.assemble()?;
        self.overtime = Some(Overtime::watch("copying", &self.place.interrupts)?);
        Ok(fleet)
    }

    /// Closes the channels of all agents, and waits for those that were started, except those that
    /// are silent.
    pub fn end(&mut self, fleet: Fleet, outcome: &Outcome) {
        let Fleet { agents, children } = fleet;
        drop(agents);
        let is_silent = |at: usize| outcome.nodes.get(at).is_some_and(|node| node.silent);
        self.end_children(children, outcome.interrupted, is_silent);
    }

    /// Waits for the agents that were started, except those for whose index `is_silent` returns
    /// true. All channels are closed.
    pub(crate) fn end_children(
        &mut self,
        children: Children,
        was_interrupted: bool,
        is_silent: impl Fn(usize) -> bool,
    ) {
        // Only steps that cannot block remain.
        self.overtime = None;
        children
            .end(if was_interrupted { INTERRUPTED_END_TIMEOUT } else { END_TIMEOUT }, is_silent);
    }

    /// Returns what is known of `copies`, which went in `direction`, and the run. The rest is as if
    /// nothing but bytes had been copied.
    pub(crate) fn close(
        self,
        direction: Direction,
        copies: Vec<Copied>,
        limit: Option<Limit>,
    ) -> MadeCopy {
        let Self { spec, run, phases, .. } = self;
        let outcome = CopyOutcome {
            direction,
            copies,
            phases,
            limit,
            congestion: spec.tuning.congestion_in_force(),
            unchanged: Unchanged::default(),
            unusable: Vec::new(),
            unread: Vec::new(),
            comparison: Vec::new(),
            agents_started: false,
            path: Vec::new(),
            is_off_disk: false,
            by_ssh: Vec::new(),
            fed_here: Vec::new(),
            read_back: spec.checks.read_back,
            tree: None,
            holders: Vec::new(),
        };
        MadeCopy { outcome, run, listener: None }
    }
}
