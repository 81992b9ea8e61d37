//! The time limits of jobs and of their steps, as the head enforces them: a node that hangs, or
//! that ignores its orders, ends no job, and answers none.

use std::collections::HashMap;

use super::running::{JobStep, RunningJob};
use crate::farm::jobs::JOBS_AT_ONCE_MAX;

/// The interval between two looks at the jobs, in nanoseconds.
const INTERVAL_NS: u64 = 1_000_000_000;

/// Counts how long nodes have had the jobs that they may be running.
#[derive(Debug)]
pub struct TimeLimits {
    looked_ns: u64,
}

impl TimeLimits {
    /// How much longer than its time limit a job may run before its node is blamed, in nanoseconds:
    /// the node has to start it, to end its processes, to name its outputs, and to tell.
    pub const GRACE_NS: u64 = 30_000_000_000;

    /// How long a node may take to make the directories of a job's files, in nanoseconds.
    pub const MAKE_NS: u64 = 60_000_000_000;

    /// How long a node may take to let a job leave, in nanoseconds: its agent gives a checkpoint
    /// command 60 s, and ends the job then.
    pub const LEAVE_NS: u64 = 90_000_000_000;

    pub fn new(now_ns: u64) -> Self {
        Self { looked_ns: now_ns }
    }

    /// Returns the time in nanoseconds that has passed for the jobs since the last look; `None` if
    /// no look is due.
    pub fn passed_ns(&mut self, now_ns: u64) -> Option<u64> {
        let passed_ns = now_ns.saturating_sub(self.looked_ns);
        if passed_ns < INTERVAL_NS {
            return None;
        }
        self.looked_ns = now_ns;
        // A head that stood still has not read what the nodes said meanwhile.
        Some(passed_ns.min(2 * INTERVAL_NS))
    }

    /// Adds `passed_ns` to the times of all jobs whose nodes have to answer an order about them.
    /// Returns those whose nodes should have answered.
    pub fn unanswered(live: &mut HashMap<usize, RunningJob>, passed_ns: u64) -> Vec<usize> {
        let mut unanswered = Vec::new();
        for (at, job) in live {
            let limit_ns = match job.step {
                JobStep::Make => Self::MAKE_NS,
                JobStep::Leave => Self::LEAVE_NS,
                // A copy ends if no byte moves for too long (`Policy::idle_after_ns`), and a job
                // the one that its user has set.
                JobStep::Stage(_) | JobStep::Run => continue,
            };
            job.unanswered_ns = job.unanswered_ns.saturating_add(passed_ns);
            if job.unanswered_ns > limit_ns {
                unanswered.push(*at);
            }
        }
        unanswered.sort_unstable();
        unanswered
    }

    /// Adds `passed_ns` to the times of all jobs that their nodes may be running. Returns those
    /// that should have ended by themselves. `room` returns the number of processors of a node for
    /// jobs.
    pub fn overdue(
        live: &mut HashMap<usize, RunningJob>,
        room: impl Fn(usize) -> u32,
        passed_ns: u64,
    ) -> Vec<usize> {
        let place = |job: &RunningJob| Some((job.node, job.place()?));
        let mut jobs: Vec<(usize, &mut RunningJob)> = live
            .iter_mut()
            .filter(|(_, job)| job.place().is_some())
            .map(|(at, job)| (*at, job))
            .collect();
        jobs.sort_unstable_by_key(|(_, job)| place(job));
        let mut overdue = Vec::new();
        for of_node in jobs.chunk_by_mut(|(_, one), (_, two)| one.node == two.node) {
            // A node starts its jobs in order, as soon as processors are free for the first one.
            let mut cores = 0_u32;
            let room = of_node.first().map_or(0, |(_, job)| room(job.node));
            for (at, job) in of_node.iter_mut().take(JOBS_AT_ONCE_MAX) {
                cores = cores.saturating_add(job.cores);
                if cores > room {
                    break;
                }
                job.ran_ns = job.ran_ns.saturating_add(passed_ns);
                let is_overdue =
                    |limit_ns: u64| job.ran_ns > limit_ns.saturating_add(Self::GRACE_NS);
                overdue.extend(job.limit_ns.is_some_and(is_overdue).then_some(*at));
            }
        }
        overdue
    }
}
