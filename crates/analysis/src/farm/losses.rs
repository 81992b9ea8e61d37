//! Where the rest of the nodes' power went: seconds by which a run took longer than its work on all
//! nodes together, each with one cause. They and the work sum to the run's time.
//!
//! At every moment every slot of every node is either taken by a job or free. Of the time that jobs
//! take, what they weren't on a processor for they waited for their files. A free slot waits for the
//! inputs of the next job or, when these are there, for the engine to start it; when no job is to come
//! any more, for results that are taken back, and for the last jobs elsewhere. A second of a slot counts
//! as much as it could have done in it, by the power of all.

use serde::{Deserialize, Serialize};

use super::{Task, Worker, fluid, rounds};

/// Where the jobs' files were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// On the nodes' own disks, from the beginning or brought there.
    OnNodes,
    /// Elsewhere, behind the network, when the jobs read and wrote them.
    Mounted,
}

/// What held the nodes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Whole jobs can't be dealt out evenly: the last round is not full.
    IntegerRounds,
    /// Files that were transferred, and the node that served them.
    Network,
    /// The nodes' own disks, and whatever else jobs wait for that aren't on a processor.
    Disk,
    /// The engine: its beginning and end, and what lies between two jobs on a node.
    Engine,
    /// The last jobs took longer, or were dealt out worse, than whole jobs must.
    Stragglers,
}

impl Loss {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::IntegerRounds, Self::Network, Self::Disk, Self::Engine, Self::Stragglers];
}

/// A run's time, parted; in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// The run.
    pub whole: f64,
    /// What the work takes on all nodes together if it can be cut at will: the theoretical best.
    pub work: f64,
    /// What it takes in whole jobs, at best.
    pub whole_jobs: f64,
    /// Everything else; with `work` they sum to the run's time.
    pub causes: Vec<(Loss, f64)>,
    /// Whether all jobs' processor time is known. Where it isn't, what they waited for counts as work.
    pub counted: bool,
}

impl Losses {
    /// Seconds of one cause.
    #[must_use]
    pub fn of(&self, cause: Loss) -> f64 {
        self.causes.iter().filter(|(own, _)| *own == cause).map(|(_, seconds)| seconds).sum()
    }
}

/// Parts the time of a run that took `whole` seconds; none without power.
#[must_use]
pub fn losses(tasks: &[Task], workers: &[Worker], whole: f64, files: Files) -> Option<Losses> {
    let works: Vec<f64> =
        tasks.iter().filter_map(|task| Some(task.work(workers.get(task.worker)?))).collect();
    let (ideal, whole_jobs) = (fluid(&works, workers)?, rounds(&works, workers)?);
    let power: f64 = workers.iter().map(Worker::power).sum();
    let mut all = Areas::default();
    for (at, worker) in workers.iter().enumerate() {
        let own: Vec<Task> = tasks.iter().filter(|task| task.worker == at).copied().collect();
        all.add(&Areas::of(&own, worker, whole), worker.pace() / power);
    }
    // Work that took more processors than its slot has leaves nothing to wait for, and is no loss.
    let idle = all.tail.max(0.0);
    let by_rounds = (whole_jobs - ideal).clamp(0.0, idle);
    let (network, disk) = match files {
        Files::OnNodes => (all.staging, all.waiting),
        Files::Mounted => (all.staging + all.waiting, 0.0),
    };
    Some(Losses {
        whole,
        work: all.work,
        whole_jobs,
        causes: vec![
            (Loss::IntegerRounds, by_rounds),
            (Loss::Network, network),
            (Loss::Disk, disk),
            (Loss::Engine, all.engine),
            (Loss::Stragglers, idle - by_rounds),
        ],
        counted: tasks.iter().all(|task| task.cpu.is_some()),
    })
}

/// What became of a node's slots, in seconds of a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Areas {
    work: f64,
    waiting: f64,
    staging: f64,
    engine: f64,
    tail: f64,
}

impl Areas {
    fn add(&mut self, other: &Self, weight: f64) {
        self.work += other.work * weight;
        self.waiting += other.waiting * weight;
        self.staging += other.staging * weight;
        self.engine += other.engine * weight;
        self.tail += other.tail * weight;
    }

    /// Those of one node with its own `tasks`.
    fn of(tasks: &[Task], worker: &Worker, whole: f64) -> Self {
        let mut moments: Vec<f64> = vec![0.0, whole];
        for task in tasks {
            moments.extend(
                [Some(task.started), Some(task.ended), task.staged_in, task.staged_out]
                    .iter()
                    .flatten(),
            );
        }
        moments.retain(|moment| moment.is_finite());
        moments.iter_mut().for_each(|moment| *moment = moment.clamp(0.0, whole.max(0.0)));
        moments.sort_by(f64::total_cmp);
        moments.dedup();
        let sorted = Sorted::of(tasks);
        let mut areas = Self::default();
        let mut taken = 0.0;
        for pair in moments.windows(2) {
            let (from, length) = (pair[0], pair[1] - pair[0]);
            let now = sorted.at(from, worker.slots as usize);
            taken += length * now.running as f64;
            areas.staging += length * now.staging as f64;
            areas.engine += length * now.engine as f64;
            areas.tail += length * now.idle as f64;
        }
        let worked = |task: &Task| task.work(worker) / worker.pace();
        let work: f64 = tasks.iter().map(worked).filter(|own| own.is_finite()).sum();
        areas.work = work.min(taken);
        areas.waiting = taken - areas.work;
        areas
    }
}

/// What a node's slots do at a moment; the counts sum to the slots.
struct Now {
    running: usize,
    staging: usize,
    engine: usize,
    idle: usize,
}

/// A node's jobs by their starts and ends.
struct Sorted {
    /// Starts, each with when its inputs were there.
    starts: Vec<(f64, Option<f64>)>,
    ends: Vec<f64>,
    /// When results began to be taken back...
    leave: Vec<f64>,
    /// ... and when they had been.
    left: Vec<f64>,
}

/// How many of `sorted` are at `moment` or before.
fn until(sorted: &[f64], moment: f64) -> usize {
    sorted.partition_point(|own| *own <= moment)
}

/// Numbers in their order.
fn in_order(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

impl Sorted {
    fn of(tasks: &[Task]) -> Self {
        let mut starts: Vec<_> = tasks.iter().map(|task| (task.started, task.staged_in)).collect();
        starts.sort_by(|one, two| one.0.total_cmp(&two.0));
        let outs = || tasks.iter().filter(|task| task.done() > task.ended);
        Self {
            starts,
            ends: in_order(tasks.iter().map(|task| task.ended.max(task.started))),
            leave: in_order(outs().map(|task| task.ended)),
            left: in_order(outs().map(Task::done)),
        }
    }

    /// What happens right after `moment`.
    fn at(&self, moment: f64, slots: usize) -> Now {
        let started = self.starts.partition_point(|start| start.0 <= moment);
        let running = started.saturating_sub(until(&self.ends, moment)).min(slots);
        let free = slots - running;
        // The next jobs are what free slots wait for, one each.
        let next = self.starts[started..].iter().take(free);
        let staging = next.clone().filter(|start| start.1.is_some_and(|there| there > moment));
        let (coming, staging) = (next.len(), staging.count());
        let idle = free - coming;
        let leaving = until(&self.leave, moment).saturating_sub(until(&self.left, moment));
        let leaving = leaving.min(idle);
        Now { running, staging: staging + leaving, engine: coming - staging, idle: idle - leaving }
    }
}
