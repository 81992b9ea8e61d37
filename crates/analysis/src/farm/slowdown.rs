//! The slowdown of jobs: time in the system divided by time alone, a measure for placements (Amir,
//! Awerbuch, Barak, Borgstrom and Keren, An opportunity cost approach for job assignment in a
//! scalable computing cluster, TPDS 11(7), 2000).

use super::{Task, Worker};

/// Returns the mean slowdown of the jobs; `None` if no work is known. The slowdown of a job is the
/// time from its queueing to its completion, divided by the time of its work on the fastest slot.
pub fn slowdown(tasks: &[Task], workers: &[Worker]) -> Option<f64> {
    let fastest = workers.iter().map(Worker::pace).fold(0.0, f64::max);
    let of = |task: &Task| {
        let alone = task.work(workers.get(task.worker)?) / fastest;
        (alone > 0.0 && alone.is_finite()).then(|| (task.done() - task.queued).max(0.0) / alone)
    };
    let all: Vec<f64> = tasks.iter().filter_map(of).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}
