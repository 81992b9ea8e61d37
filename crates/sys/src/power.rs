//! Power saving of the CPUs: frequency governors and idle states. Both increase the latency of
//! small operations.

use std::fs;

/// The sysfs directory that describes the CPUs.
const FOLDER: &str = "/sys/devices/system/cpu";

/// An idle state of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// The name, such as `C6`.
    pub name: String,
    /// The maximum time to leave the state, in microseconds, as the kernel reports it.
    pub wake_us: u64,
}

/// Returns the frequency governors of `cpus`, sorted and without duplicates; empty if the kernel
/// does not control the frequencies.
#[must_use]
pub fn governors(cpus: &[usize]) -> Vec<String> {
    let governor = |cpu: &usize| text(&format!("{FOLDER}/cpu{cpu}/cpufreq/scaling_governor"));
    let mut all: Vec<String> = cpus.iter().filter_map(governor).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the enabled idle state with the longest wake-up time that any of `cpus` has; `None` if
/// the kernel reports none, as in most virtual machines.
#[must_use]
pub fn deepest_idle(cpus: &[usize]) -> Option<IdleState> {
    // The kernel has at most 10 idle states.
    let states = cpus.iter().flat_map(|cpu| (0..16).map_while(|at| idle_state(*cpu, at)));
    states.flatten().max_by_key(|state| state.wake_us)
}

/// Returns idle state number `at` of a CPU: `None` if it does not exist, `Some(None)` if it is
/// disabled.
fn idle_state(cpu: usize, at: u32) -> Option<Option<IdleState>> {
    let folder = format!("{FOLDER}/cpu{cpu}/cpuidle/state{at}");
    let name = text(&format!("{folder}/name"))?;
    let wake_us = text(&format!("{folder}/latency"))?.parse().ok()?;
    let is_off = text(&format!("{folder}/disable")).is_some_and(|disabled| disabled != "0");
    Some((!is_off).then_some(IdleState { name, wake_us }))
}

/// Returns the number of online CPUs; `None` if the kernel does not report it.
#[must_use]
pub fn online() -> Option<usize> {
    let list = text(&format!("{FOLDER}/online"))?;
    let count = |part: &str| -> Option<usize> {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        Some((to + 1).saturating_sub(from))
    };
    list.split(',').map(count).sum()
}

fn text(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_cpus_are_online_as_this_process_may_use_at_least() {
        let own = crate::pinning::allowed().unwrap();
        assert!(online().is_some_and(|online| online >= own.len()));
        assert_eq!(governors(&[usize::MAX]), Vec::<String>::new());
        assert_eq!(deepest_idle(&[usize::MAX]), None);
    }
}
