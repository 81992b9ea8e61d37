//! The libfabric provider in a result.

use std::fmt;

use garland_core::printable;
use garland_core::units::bytes;
use garland_protocol::measure::{
    FabricWay, LibraryVersion, OneSidedTry, PingKind, PingTask, PingWait, TargetState,
};
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
    pub tries: Vec<OneSidedTry>,
}

impl From<FabricWay> for FabricResult {
    fn from(way: FabricWay) -> Self {
        let LibraryVersion { major, minor } = way.library;
        Self {
            provider: way.provider,
            domain: way.domain,
            libfabric: format!("{major}.{minor}"),
            sleeps: way.sleeps.initiator,
            target_sleeps: way.sleeps.target,
            acknowledged: way.delivers,
            tries: way.tries,
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
                let size = |a_try: OneSidedTry| bytes::format(u64::from(a_try.size));
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
    use garland_protocol::measure::SleepingSides;

    use super::*;

    #[test]
    fn display_reports_the_tries() {
        let way = |tries: &[OneSidedTry]| FabricWay {
            provider: "shm".to_owned(),
            domain: "shm".to_owned(),
            library: LibraryVersion { major: 1, minor: 17 },
            sleeps: SleepingSides::default(),
            delivers: false,
            tries: tries.to_vec(),
        };
        let one_sided = |size| OneSidedTry { size, one_sided: true };
        let emulated = |size| OneSidedTry { size, one_sided: false };
        let said = |tries: &[OneSidedTry]| FabricResult::from(way(tries)).to_string();
        assert_eq!(said(&[]), "shm of libfabric 1.17");
        let alike = said(&[one_sided(8), one_sided(64)]);
        assert!(alike.ends_with("(one-sided: the other CPU is not used)"), "{alike}");
        let both = said(&[emulated(8), one_sided(4096)]);
        assert!(both.contains("8 B emulated") && both.contains("4.00 KiB one-sided"), "{both}");
        assert!(FabricResult::from(way(&[emulated(8), one_sided(64)])).is_emulated());
        let forged = FabricWay { provider: "shm\nok".to_owned(), ..way(&[]) };
        assert_eq!(FabricResult::from(forged).to_string(), "shm\\nok of libfabric 1.17");
    }
}
