//! The libfabric provider in a result.

use std::fmt;

use garland_core::printable;
use garland_core::units::bytes;
use garland_protocol::measure::{FabricWay, PingKind, PingTask, PingWait, TargetState};
use serde::Serialize;

/// The libfabric provider of a pair, and what it supports.
#[derive(Clone, Debug, Serialize)]
pub struct FabricResult {
    pub provider: String,
    /// libfabric's name for the NIC of the first node.
    pub domain: String,
    /// The version of libfabric: `MAJOR.MINOR`.
    pub libfabric: String,
    /// Whether the first node can sleep while it waits.
    pub sleeps: bool,
    /// Whether the other node can sleep while it waits.
    pub target_sleeps: bool,
    /// Whether a put completes only once its bytes are in the other node's memory; otherwise it
    /// completes when they are sent.
    pub acknowledged: bool,
    /// For each size that was tried, whether the target's CPU takes part.
    pub tries: Vec<Try>,
}

/// Whether gets or puts of one size complete without the target's CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Try {
    pub size: u32,
    pub one_sided: bool,
}

impl From<FabricWay> for FabricResult {
    fn from(way: FabricWay) -> Self {
        let (major, minor) = way.library;
        let one = |(size, one_sided)| Try { size, one_sided };
        Self {
            provider: way.provider,
            domain: way.domain,
            libfabric: format!("{major}.{minor}"),
            sleeps: way.sleeps.0,
            target_sleeps: way.sleeps.1,
            acknowledged: way.delivers,
            tries: way.one_sided.into_iter().map(one).collect(),
        }
    }
}

impl FabricResult {
    /// Returns whether the target's CPU serves gets and puts of some size.
    pub fn is_emulated(&self) -> bool {
        self.tries.iter().any(|a_try| !a_try.one_sided)
    }

    /// Returns the provider's name, which a node sent, as a part of a line.
    fn shown(&self) -> String {
        printable::line(&self.provider)
    }

    /// Returns a warning for each requirement of the task that the provider does not meet.
    pub fn warnings(&self, task: &PingTask) -> Vec<String> {
        let name = self.shown();
        let mut warnings = Vec::new();
        if task.wait == PingWait::Block && !self.sleeps {
            warnings.push(format!(
                "provider {name} has no blocking wait: the first node polls instead"
            ));
        }
        if task.target != TargetState::Idle && !self.target_sleeps {
            warnings
                .push(format!("provider {name} has no blocking wait: the target polls instead"));
        }
        let puts = task.points.iter().any(|point| point.kind == PingKind::Put);
        if puts && !self.acknowledged {
            warnings
                .push(format!("provider {name} does not acknowledge puts: a put ends when sent"));
        }
        warnings
    }
}

impl fmt::Display for FabricResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of libfabric {}", self.shown(), self.libfabric)?;
        let say = |one_sided| match one_sided {
            true => "one-sided: the other CPU is not used",
            false => "emulated: the other CPU answers",
        };
        match self.tries[..] {
            [] => Ok(()),
            [first, last] if first.one_sided != last.one_sided => {
                let size = |a_try: Try| bytes::format(u64::from(a_try.size));
                let one = say(first.one_sided);
                let other = say(last.one_sided);
                write!(f, " ({} {one}; {} {other})", size(first), size(last))
            }
            [first, ..] => write!(f, " ({})", say(first.one_sided)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_reports_the_tries() {
        let way = |one_sided| FabricWay {
            provider: "shm".to_owned(),
            domain: "shm".to_owned(),
            library: (1, 17),
            sleeps: (false, false),
            delivers: false,
            one_sided,
        };
        let said = |tries| FabricResult::from(way(tries)).to_string();
        assert_eq!(said(vec![]), "shm of libfabric 1.17");
        assert!(
            said(vec![(8, true), (64, true)]).ends_with("(one-sided: the other CPU is not used)")
        );
        let both = said(vec![(8, false), (4096, true)]);
        assert!(both.contains("8 B emulated") && both.contains("4.00 KiB one-sided"), "{both}");
        assert!(FabricResult::from(way(vec![(8, false), (64, true)])).is_emulated());
        let forged = FabricWay { provider: "shm\nok".to_owned(), ..way(vec![]) };
        assert_eq!(FabricResult::from(forged).to_string(), "shm\\nok of libfabric 1.17");
    }
}
