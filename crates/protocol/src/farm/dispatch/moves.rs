//! Which running jobs move to other nodes.

use std::collections::HashMap;

use super::dispatcher::Dispatcher;
use super::running::{JobStep, RunningJob};
use super::work::{FinishedWork, Work};

/// The maximum number of moves of a job.
const MOVES_MAX: usize = 2;

/// A job moves if the rest of its work takes longer on its node than so many times the time on the
/// other node, and [`COST`] more: estimates are off by a third or so.
const GAIN: f64 = 1.5;

/// The time that a move takes, in seconds.
const COST: f64 = 1.0;

/// The least time between two decisions, in seconds: agents report once a second.
const INTERVAL: f64 = 0.5;

/// Decides which running jobs move, from the CPU time of finished and of running jobs.
#[derive(Debug, Default)]
pub struct Mover {
    finished: FinishedWork,
    /// Whether anything was measured since the last decision.
    has_news: bool,
    /// The time of the next decision, in seconds since the run began.
    next: f64,
}

impl Mover {
    /// Notes that a job which requests `cores` processors has finished.
    pub fn finished(&mut self, cores: u32, work: Work) {
        self.finished.note(cores, work);
        self.has_news = true;
    }

    /// Notes that the CPU time of running jobs was measured.
    pub fn measured(&mut self) {
        self.has_news = true;
    }

    /// Returns the jobs that are to move at `now`, in seconds since the run began, each with its
    /// new node. `share` returns the part of a processor that a node gives a job on it.
    pub fn due(
        &mut self,
        live: &HashMap<usize, RunningJob>,
        farm: &Dispatcher,
        share: impl Fn(usize) -> f64,
        now: f64,
    ) -> Vec<(usize, usize)> {
        if !self.has_news || now < self.next || farm.has_waiting() {
            return Vec::new();
        }
        (self.has_news, self.next) = (false, now + INTERVAL);
        let mut coming: HashMap<usize, u32> = HashMap::new();
        for (&job, one) in live {
            one.target
                .iter()
                .for_each(|&to| *coming.entry(to).or_default() += farm.jobs()[job].cores);
        }
        let left = |(&job, one): (&usize, &RunningJob)| {
            let may_move = one.step == JobStep::Run && !one.stays && farm.moves(job) < MOVES_MAX;
            let work = self.finished.median(farm.jobs()[job].cores).filter(|_| may_move)?;
            let (used, rate) = one.cpu.now()?;
            let left = work.cpu - used;
            let again = if one.saves { left } else { work.cpu };
            (left > 0.0).then_some((left / rate, job, again / work.efficiency))
        };
        let mut late: Vec<(f64, usize, f64)> = live.iter().filter_map(left).collect();
        // The last ones to end move first.
        late.sort_by(|one, two| two.0.total_cmp(&one.0).then(one.1.cmp(&two.1)));
        let mut due = Vec::new();
        for (here, job, again) in late {
            let cores = farm.jobs()[job].cores;
            let has_room = |&(node, free): &(usize, u32)| {
                free >= cores + coming.get(&node).copied().unwrap_or(0)
            };
            let rooms = farm.room_for(job).into_iter().filter(has_room).map(|(node, _)| node);
            // Of equal nodes, the first one.
            let best = rooms.rev().max_by(|&one, &two| share(one).total_cmp(&share(two)));
            let Some(to) = best else { continue };
            if here > GAIN * again / (share(to) * f64::from(cores)) + COST {
                *coming.entry(to).or_default() += cores;
                due.push((job, to));
            }
        }
        due
    }
}
