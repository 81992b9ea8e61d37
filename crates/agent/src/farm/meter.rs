//! The CPU time of running jobs, measured once a second.

use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::farm::FarmEvent;
use garland_sys::event::{self, Wake};
use garland_sys::{clock, process_table};

/// The interval between two measurements.
const INTERVAL: Duration = Duration::from_secs(1);

/// Measures until `stop` is raised, and passes the results to `tell`. `jobs` returns the numbers of
/// the running jobs, each with the leader of its process group, as
/// `/proc` names it.
pub fn measure(stop: &Wake, jobs: impl Fn() -> Vec<(u32, u32)>, tell: impl Fn(FarmEvent)) {
    while event::wait_readable(&[stop.as_fd()], Some(INTERVAL)).is_ok_and(|ready| !ready[0]) {
        let running = jobs();
        if running.is_empty() {
            continue;
        }
        let at_ns = clock::now_ns();
        let leaders: Vec<u32> = running.iter().map(|(_, leader)| *leader).collect();
        let used = process_table::group_cpu_ns(&leaders);
        let of = |(job, leader): (u32, u32)| Some((job, *used.get(&leader)?));
        tell(FarmEvent::Used { at_ns, jobs: running.into_iter().filter_map(of).collect() });
    }
}
