//! The work of jobs in CPU time: what finished jobs needed, and what running ones have done.

use std::collections::{HashMap, VecDeque};

/// The time over which the rate of a job is measured, in nanoseconds.
const WINDOW_NS: u64 = 5_000_000_000;

/// The least time over which the rate of a job is measured, in nanoseconds. Shorter ones say
/// little: a limit of CPU time stops processes and lets them go on many times a second.
const WINDOW_MIN_NS: u64 = 1_900_000_000;

/// The most samples that are kept of a job: more than a node takes in [`WINDOW_NS`].
const SAMPLES_MAX: usize = 32;

/// The CPU time of a running job.
#[derive(Clone, Debug, Default)]
pub struct CpuUse {
    /// The CPU time of the work that was done on other nodes, in seconds.
    before: f64,
    /// Times of the node's clock, each with the CPU time on this node until then, in nanoseconds.
    samples: VecDeque<(u64, u64)>,
}

impl CpuUse {
    /// Returns the use of a job that has not run on this node; `before` is the CPU time of the work
    /// that was done on other nodes, in seconds.
    pub fn new(before: f64) -> Self {
        Self { before, samples: VecDeque::new() }
    }

    /// Notes the CPU time of the job on this node at a time of the node's clock, in nanoseconds. A
    /// time that is not later than the one before is ignored: no clock tells it.
    pub fn note(&mut self, at_ns: u64, used_ns: u64) {
        if self.samples.back().is_some_and(|(last_ns, _)| at_ns <= *last_ns) {
            return;
        }
        self.samples.push_back((at_ns, used_ns));
        while self.samples.len() > SAMPLES_MAX
            || self.samples.front().is_some_and(|(then_ns, _)| at_ns - then_ns > WINDOW_NS)
        {
            let _ = self.samples.pop_front();
        }
    }

    /// Returns the CPU time of the job's work so far, in seconds, and the number of processors that
    /// it used over the last seconds; `None` if it was not measured for long enough.
    pub fn now(&self) -> Option<(f64, f64)> {
        let (&(first_ns, first), &(last_ns, last)) = (self.samples.front()?, self.samples.back()?);
        let took_ns = last_ns.saturating_sub(first_ns);
        let rate = last.saturating_sub(first) as f64 / took_ns as f64;
        (took_ns >= WINDOW_MIN_NS).then_some((self.before + last as f64 / 1e9, rate))
    }
}

/// What finished jobs with equal requests of processors needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// The CPU time of a job in seconds.
    pub cpu: f64,
    /// The part of the CPU time that its node could have given the job which the job used, up to 1:
    /// less if it waited for its files or for other programs.
    pub efficiency: f64,
}

/// The work of finished jobs, by the number of processors that they request.
#[derive(Debug, Default)]
pub struct FinishedWork {
    done: HashMap<u32, Vec<Work>>,
    /// Medians of `done`, as far as they are known.
    medians: HashMap<u32, Work>,
}

impl FinishedWork {
    /// Notes a finished job that requested `cores` processors.
    pub fn note(&mut self, cores: u32, work: Work) {
        let is_known = work.cpu.is_finite() && work.efficiency.is_finite();
        let efficiency = work.efficiency.clamp(0.0, 1.0);
        self.done.entry(cores).or_default().extend(is_known.then_some(Work { efficiency, ..work }));
        self.medians.remove(&cores);
    }

    /// Returns the median of finished jobs that requested `cores` processors; `None` if there are
    /// none.
    pub fn median(&mut self, cores: u32) -> Option<Work> {
        if let Some(&known) = self.medians.get(&cores) {
            return Some(known);
        }
        let done = self.done.get(&cores).filter(|done| !done.is_empty())?;
        let middle = |value: fn(&Work) -> f64| {
            let mut values: Vec<f64> = done.iter().map(value).collect();
            let at = values.len() / 2;
            *values.select_nth_unstable_by(at, f64::total_cmp).1
        };
        let median =
            Work { cpu: middle(|work| work.cpu), efficiency: middle(|work| work.efficiency) };
        self.medians.insert(cores, median);
        Some(median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut cpu = CpuUse::new(2.0);
        // A whole processor for ten seconds, then a tenth of it.
        for at in 0..=10 {
            cpu.note(at * SECOND, at * SECOND);
            assert_eq!(cpu.now().is_some(), at >= 2, "after {at} s");
        }
        assert_eq!(cpu.now(), Some((12.0, 1.0)));
        (1..=6).for_each(|at| cpu.note((10 + at) * SECOND, 10 * SECOND + at * SECOND / 10));
        let (used, rate) = cpu.now().unwrap();
        assert!((used - 12.6).abs() < 1e-9 && (rate - 0.1).abs() < 1e-9, "{used} {rate}");
    }

    #[test]
    fn the_middle_one_of_equal_jobs_counts() {
        let mut finished = FinishedWork::default();
        assert_eq!(finished.median(1), None);
        for cpu in [3.0, 90.0, 4.0] {
            finished.note(1, Work { cpu, efficiency: 1.0 / cpu });
            finished.note(2, Work { cpu: 1.0, efficiency: 1.1 });
        }
        finished.note(1, Work { cpu: 0.0, efficiency: f64::NAN });
        assert_eq!(finished.median(1), Some(Work { cpu: 4.0, efficiency: 0.25 }));
        assert_eq!(finished.median(2), Some(Work { cpu: 1.0, efficiency: 1.0 }));
    }
}
