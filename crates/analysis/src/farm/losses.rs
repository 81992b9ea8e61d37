//! Attributes to causes the time by which a run exceeded the theoretical time of its work. Work and
//! causes sum to the run's time.
//!
//! Every slot of a node is taken by a job or free at any moment. The part of a job's time that is
//! not CPU time was spent waiting for files. A free slot waits for the inputs of the next job or,
//! if these have arrived, for the engine to start it; if no job follows, it waits for outputs to be
//! transferred, and then for the last jobs of others. Each second of a slot is weighted by its
//! share of the total power.

use serde::{Deserialize, Serialize};

use super::{Task, Worker, fluid, rounds};

/// The location of the jobs' files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// On the nodes' own disks, from the start or after a transfer.
    OnNodes,
    /// On another machine; jobs accessed them over the network.
    Mounted,
}

/// A cause of lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Jobs cannot be divided evenly: the last round is not full.
    IntegerRounds,
    /// Transfers of files; if files were mounted, also all time in which jobs waited without a CPU.
    Network,
    /// The nodes' own disks, and everything else that jobs wait for without a CPU; zero if files
    /// were mounted.
    Disk,
    /// The engine: its start and end, and the time between two jobs of a slot.
    Engine,
    /// The last jobs took longer, or were distributed worse, than necessary.
    Stragglers,
}

impl Loss {
    /// All causes, in the order in which tables show them.
    pub const ALL: [Self; 5] =
        [Self::IntegerRounds, Self::Network, Self::Disk, Self::Engine, Self::Stragglers];
}

/// The duration of a run, divided by cause, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// The duration of the run.
    pub whole: f64,
    /// The time that the work takes on all nodes if it can be divided arbitrarily: the theoretical
    /// minimum.
    pub work: f64,
    /// The minimum time of the jobs in seconds, since a job cannot be divided.
    pub whole_jobs: f64,
    /// The lost time by cause; together with `work` the seconds sum to the run's time.
    pub causes: Vec<(Loss, f64)>,
    /// Whether the CPU time of all jobs is known. Otherwise the whole run time of the other jobs
    /// counts as work, including their waiting.
    pub counted: bool,
}

impl Losses {
    /// Returns the seconds lost to one cause.
    pub fn of(&self, cause: Loss) -> f64 {
        self.causes.iter().filter(|(own, _)| *own == cause).map(|(_, seconds)| seconds).sum()
    }
}

/// Divides the time of a run of `whole` seconds by cause; `None` if the workers have no power.
pub fn losses(tasks: &[Task], workers: &[Worker], whole: f64, files: Files) -> Option<Losses> {
    let works: Vec<f64> =
        tasks.iter().filter_map(|task| Some(task.work(workers.get(task.worker)?))).collect();
    let ideal = fluid(&works, workers)?;
    let whole_jobs = rounds(&works, workers)?;
    let power: f64 = workers.iter().map(Worker::power).sum();
    let mut all = Areas::default();
    for (at, worker) in workers.iter().enumerate() {
        let own: Vec<Task> = tasks.iter().filter(|task| task.worker == at).copied().collect();
        all.add(&Areas::from_tasks(&own, worker, whole), worker.pace() / power);
    }
    // Jobs that used more CPUs than their slots leave no waiting, and no loss.
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

/// The time that a node's slots spend in each activity, in slot-seconds.
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

    /// Computes the use of one node's slots from the node's own `tasks`.
    fn from_tasks(tasks: &[Task], worker: &Worker, whole: f64) -> Self {
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
        let sorted = Sorted::from_tasks(tasks);
        let mut areas = Self::default();
        let mut taken = 0.0;
        for pair in moments.windows(2) {
            let from = pair[0];
            let length = pair[1] - pair[0];
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

/// The number of a node's slots in each activity at a moment; the numbers sum to all slots.
struct Now {
    running: usize,
    staging: usize,
    engine: usize,
    idle: usize,
}

/// The times of a node's jobs; each list is sorted.
struct Sorted {
    /// For each job, its start and the time when its inputs had arrived; sorted by start.
    starts: Vec<(f64, Option<f64>)>,
    ends: Vec<f64>,
    /// The times when transfers of outputs began.
    leave: Vec<f64>,
    /// The times when transfers of outputs ended.
    left: Vec<f64>,
}

/// Returns the number of values in `sorted` that are at most `moment`.
fn until(sorted: &[f64], moment: f64) -> usize {
    sorted.partition_point(|own| *own <= moment)
}

/// Returns `numbers`, sorted in ascending order.
fn in_order(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

impl Sorted {
    fn from_tasks(tasks: &[Task]) -> Self {
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

    /// Returns the number of slots in each activity right after `moment`.
    fn at(&self, moment: f64, slots: usize) -> Now {
        let started = self.starts.partition_point(|start| start.0 <= moment);
        let running = started.saturating_sub(until(&self.ends, moment)).min(slots);
        let free = slots - running;
        // Each free slot waits for one of the next jobs.
        let next = self.starts[started..].iter().take(free);
        let staging = next.clone().filter(|start| start.1.is_some_and(|there| there > moment));
        let coming = next.len();
        let staging = staging.count();
        let idle = free - coming;
        let leaving = until(&self.leave, moment).saturating_sub(until(&self.left, moment));
        let leaving = leaving.min(idle);
        Now { running, staging: staging + leaving, engine: coming - staging, idle: idle - leaving }
    }
}
