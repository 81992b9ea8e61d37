//! How a machine's CPUs save power: their governors, and how deep they may sleep. Both make small
//! operations slower than necessary.

use std::fs;

/// The directory of CPUs.
const FOLDER: &str = "/sys/devices/system/cpu";

/// A state that an idle CPU may be in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// Microseconds that a CPU takes to leave it.
    pub wake_us: u64,
}

/// The frequency governors of `cpus`, each once; none where the kernel doesn't choose frequencies.
#[must_use]
pub fn governors(cpus: &[usize]) -> Vec<String> {
    let governor = |cpu: &usize| text(&format!("{FOLDER}/cpu{cpu}/cpufreq/scaling_governor"));
    let mut all: Vec<String> = cpus.iter().filter_map(governor).collect();
    all.sort();
    all.dedup();
    all
}

/// The deepest state that one of `cpus` may sleep in, of those that aren't turned off; none where
/// the kernel doesn't tell, as in most virtual machines.
#[must_use]
pub fn deepest_idle(cpus: &[usize]) -> Option<IdleState> {
    // No kernel has more than 10.
    let states = cpus.iter().flat_map(|cpu| (0..16).map_while(|at| idle_state(*cpu, at)));
    states.flatten().max_by_key(|state| state.wake_us)
}

/// State number `at` of a CPU: `None` behind the last one, nothing within for one that is turned off.
fn idle_state(cpu: usize, at: u32) -> Option<Option<IdleState>> {
    let folder = format!("{FOLDER}/cpu{cpu}/cpuidle/state{at}");
    let name = text(&format!("{folder}/name"))?;
    let wake_us = text(&format!("{folder}/latency"))?.parse().ok()?;
    let is_off = text(&format!("{folder}/disable")).is_some_and(|disabled| disabled != "0");
    Some((!is_off).then_some(IdleState { name, wake_us }))
}

/// How many CPUs are at work; none where the kernel doesn't tell.
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
