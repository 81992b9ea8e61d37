//! Copies of a planned source until nothing of it changes meanwhile: what does is left out the next
//! time.

use std::collections::BTreeSet;
use std::sync::Arc;

use garland_control::{CopyJob, Outcome, Progress};
use garland_core::plan::{NodeId, Plan, Stripes};
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::join_listener::JoinListener;
use garland_protocol::copy::{Encoding, Injection};
use garland_protocol::operation::ComparisonWork;
use garland_results::copy_outcome::UnreadPart;
use garland_results::head::Phases;
use garland_state::run::Run;
use garland_sys::mptcp::Transport;
use garland_terminal::failure::{Failure, OrFailure};

use super::incremental::{self, Before, Remaining};
use super::observer::Observer;
use super::place::Place;
use super::source::CopySource;
use super::spec::{CopyForm, CopySpec};

/// How often a tree is copied of which files change between the comparison and the sending.
const ATTEMPTS_MAX: u32 = 4;

/// What all attempts have in common.
pub struct Stage<'a> {
    pub spec: &'a CopySpec,
    pub place: &'a Place,
    pub run: &'a Run,
    pub builder: &'a FleetBuilder<'a>,
    /// The path on the nodes.
    pub path: &'a [u8],
    pub stripes: Option<Stripes>,
    pub transport: Transport,
    pub encoding: Encoding,
    pub began_ns: u64,
    pub faults: Vec<(NodeId, Injection)>,
    /// The nodes that other ones can feed; `None` for all.
    pub reached: Option<BTreeSet<NodeId>>,
}

/// The last attempt.
pub struct Made {
    /// What was left to be copied.
    pub given: CopySource,
    pub plan: Plan,
    pub outcome: Outcome,
    pub fleet: Fleet,
    /// The length in bytes of what was left out in all attempts, because all nodes have it.
    pub unchanged: u64,
    /// Those of [`Before`].
    pub unusable: Vec<String>,
    pub unread: Vec<UnreadPart>,
    /// Who worked when for the first comparison; nodes in the order of the plan.
    pub work: Vec<ComparisonWork>,
    /// Nodes that join read the result, so it must live until that is saved.
    pub listener: Option<JoinListener>,
}

impl Stage<'_> {
    /// Compares and copies. If a tree's files change after the comparison, which ends a copy,
    /// copies what is left without these files: one that changes all the time must not keep the
    /// others from all nodes.
    ///
    /// # Errors
    /// When a copy cannot begin.
    pub fn make(
        &self,
        copy: Remaining,
        children: Children,
        phases: &mut Phases,
        observer: &mut dyn Observer,
    ) -> Result<Made, Failure> {
        let before = incremental::compare_first(self.spec, copy, self.place, phases)?;
        before.changes.iter().try_for_each(|changes| observer.changes(changes))?;
        // A node that joins would get only what is left of a tree.
        let mut made = self.attempt(before, children, observer, true)?;
        for _ in 1..ATTEMPTS_MAX {
            let Some(given) = made.without_changed()? else { break };
            let plan = made.plan.ended_at(given.content().length());
            let ends = given.ends(self.spec, self.path, None)?;
            let Fleet { agents, children } = made.fleet;
            let copy = Remaining { given, ends, plan, agents };
            // The phases are those of the first comparison and of the last copy.
            let mut again = Phases::since_now();
            let before = incremental::compare_first(self.spec, copy, self.place, &mut again)?;
            let unchanged = made.unchanged;
            let work = made.work;
            made = self.attempt(before, children, observer, false)?;
            made.unchanged += unchanged;
            made.work = work;
        }
        Ok(made)
    }

    fn attempt(
        &self,
        before: Before,
        children: Children,
        observer: &mut dyn Observer,
        is_joinable: bool,
    ) -> Result<Made, Failure> {
        let Before { copy, unchanged, digests, unusable, unread, work, .. } = before;
        let Remaining { given, ends, plan, agents } = copy;
        let CopySpec { slow, checks, tuning, .. } = self.spec;
        let Place { inventory, places, lab, .. } = self.place;
        let form = match (self.stripes, given.tree()) {
            (Some(_), _) => CopyForm::Stripes,
            (None, Some(_)) => CopyForm::Tree,
            (None, None) => CopyForm::Whole,
        };
        let job = CopyJob {
            plan: &plan,
            ends,
            stripes: self.stripes,
            known: digests,
            pipeline: self.spec.pipeline(),
            read_back: checks.read_back,
            sealed: tuning.is_sealed,
            packing: tuning.packing.beginning_with(self.encoding),
            congestion: tuning.congestion(),
            transport: self.transport,
            policy: slow.policy(&plan, form, self.path, inventory.cluster()),
            reached: self.reached.clone(),
            late: None,
            tracing: self.spec.tracing(lab.as_ref(), self.began_ns),
            injections: self.faults.clone(),
        };
        let joinable = is_joinable && job.takes_latecomers() && unchanged == 0;
        let listener = joinable.then(|| JoinListener::open(places, self.run)).transpose();
        let mut listener = listener?;
        observer.begin(&[&plan]);
        let fleet = Fleet { agents, children };
        let mut progress = |now: &Progress<'_>| observer.progress(0, &plan, now);
        let copied = self.builder.copy(job, fleet, listener.as_mut(), &mut progress);
        observer.end();
        let (outcome, fleet) = copied?;
        Ok(Made { given, plan, outcome, fleet, unchanged, unusable, unread, work, listener })
    }
}

impl Made {
    /// Returns what is left of a tree without the files that have changed, if that ended the copy.
    fn without_changed(&self) -> Result<Option<CopySource>, Failure> {
        let CopySource::Tree(tree) = &self.given else { return Ok(None) };
        let have_joined = self.outcome.nodes.len() != self.plan.receivers().count();
        if self.outcome.interrupted || have_joined {
            return Ok(None);
        }
        let left = tree.without_changed().or_nothing("cannot leave out what has changed")?;
        Ok(left.map(|left| CopySource::Tree(Arc::new(left))))
    }
}
