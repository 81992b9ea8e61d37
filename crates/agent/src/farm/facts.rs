//! The resources of this node for jobs.

use garland_protocol::farm::NodeFacts;
use garland_sys::{cgroup, process};

/// Returns the resources of this node for jobs: the number of CPUs that this process may use, the
/// share of them that its cgroup allows, memory within the cgroup's limits, and the CPU clock.
pub fn node_facts() -> NodeFacts {
    let all_memory = process::total_memory();
    let free = process::available_memory();
    let limits = cgroup::memory();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cores = u32::try_from(cores).unwrap_or(u32::MAX);
    let all = cores.saturating_mul(1000);
    NodeFacts {
        cores,
        share: cgroup::allowed().map_or(all, |allowed| allowed.min(all)),
        memory: limits.map_or(all_memory, |limits| limits.most.min(all_memory)),
        memory_free: limits.map_or(free, |limits| limits.left.min(free)),
        mhz: mhz(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
    }
}

/// Returns the mean clock rate of all CPUs in MHz from `cpuinfo`, the text of `/proc/cpuinfo`;
/// `None` if the text has no clock rates.
fn mhz(cpuinfo: &str) -> Option<f64> {
    let clocks = cpuinfo.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "cpu MHz").then(|| value.trim().parse::<f64>().ok())?
    });
    let (sum, count) = clocks.fold((0.0, 0), |(sum, count), clock| (sum + clock, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_of_this_node_are_plausible() {
        let facts = node_facts();
        assert!(facts.cores > 0 && facts.memory > 1 << 20);
        assert!(facts.memory_free > 1 << 20 && facts.memory_free <= facts.memory);
        assert_eq!(mhz("processor\t: 0\ncpu MHz\t\t: 100.5\ncpu MHz : 101.5\n"), Some(101.0));
        assert_eq!(mhz("processor: 0\n"), None);
    }
}
