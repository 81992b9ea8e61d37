//! What may have spoilt a measurement, in words.

use garland_core::proto::{PingPoint, PingTook, PingWait, TargetState};

use super::ask::Asked;

/// A node's conditions, by name.
pub type Conditions = Vec<(String, String)>;

/// Fewer operations than these say little.
const FEW: u64 = 1000;

/// What to beware of in one node's conditions.
pub fn warn_of(name: &str, conditions: &Conditions, polls: bool) -> Vec<String> {
    let value = |wanted: &str| {
        conditions.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let mut warnings = Vec::new();
    if let Some(governor) = value("governor").filter(|&governor| governor != "performance") {
        warnings.push(format!("{name}: its CPUs' governor is {governor}: their clock may be low"));
    }
    let cpus = value("cpus").and_then(|cpus| cpus.parse::<f64>().ok());
    let load = value("load").and_then(|load| load.parse::<f64>().ok());
    if let (Some(cpus), Some(load)) = (cpus, load)
        && load > cpus * 0.5
    {
        warnings.push(format!("{name}: other work is there: a load of {load} on {cpus} CPUs"));
    }
    if polls && cpus == Some(1.0) {
        warnings.push(format!("{name}: it polls, and has one CPU: others wait for it meanwhile"));
    }
    if let Some(clock) = value("clock") {
        warnings.push(format!("{name}: its clock {clock}"));
    }
    warnings
}

/// What to beware of in what one point took.
pub fn warn_of_point(point: &PingPoint, took: &PingTook, timer_ns: u64) -> Option<String> {
    let which = format!("{} bytes, {} in flight", point.size, point.depth);
    let (low, high) = took.sojourn.median_between;
    let half = (high - low) as f64 / 2.0 / (took.sojourn.p50.max(1) as f64);
    if took.count < FEW {
        Some(format!("{which}: {} operations say little about rare ones", took.count))
    } else if half > 0.01 && took.timed_together == 1 {
        Some(format!("{which}: the median is known within {:.0} % only", half * 100.0))
    } else if timer_ns * 10 > took.sojourn.p50 * u64::from(took.timed_together) {
        Some(format!("{which}: reading the clock takes {timer_ns} ns of each time"))
    } else {
        None
    }
}

/// Whether the initiator and the target look again and again.
pub fn polls(asked: &Asked) -> [bool; 2] {
    [asked.task.wait == PingWait::Poll, asked.task.target == TargetState::Idle]
}
