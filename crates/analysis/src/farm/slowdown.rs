//! How much longer a job was on its way than it would have been alone: the measure by which
//! placements were compared (Amir, Awerbuch, Barak, Borgstrom and Keren, An opportunity cost approach
//! for job assignment in a scalable computing cluster, TPDS 11(7), 2000).

use super::{Task, Worker};

/// The mean over all jobs of the time from queue to end, by the time that its work takes on the
/// fastest slot; none where no work is known.
#[must_use]
pub fn slowdown(tasks: &[Task], workers: &[Worker]) -> Option<f64> {
    let fastest = workers.iter().map(Worker::pace).fold(0.0, f64::max);
    let of = |task: &Task| {
        let alone = task.work(workers.get(task.worker)?) / fastest;
        (alone > 0.0 && alone.is_finite()).then(|| (task.done() - task.queued).max(0.0) / alone)
    };
    let all: Vec<f64> = tasks.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}
