//! `garland cp --inject`: parses faults and finds their nodes in the plan.

use std::mem::discriminant;

use garland_core::plan::{HEAD, Layout, NodeId, Plan};
use garland_core::units::{Nanos, bytes};
use garland_fleet::inventory::{self, LAB_PREFIX};
use garland_protocol::copy::{ClockFault, Injection, Wanted, parse_injection};
use garland_sys::clock;
use garland_terminal::failure::Failure;

/// The faults to inject in a command.
#[derive(Debug, Default)]
pub struct Injections {
    /// The faults of the copy, each with the node where it occurs.
    pub faults: Vec<(NodeId, Injection)>,
    /// The faults of clocks, each with the name of the node.
    pub clocks: Vec<(String, ClockFault)>,
}

/// The copy that faults are injected into.
pub struct InjectedCopy<'a> {
    /// Its plan.
    pub plan: &'a Plan,
    /// Whether it is that of a tree.
    pub is_tree: bool,
    /// Whether nodes read what they have written.
    pub verifies: bool,
    /// Whether nodes read the source themselves.
    pub is_shared: bool,
}

impl Injections {
    /// Parses `words` and finds the nodes of the faults in the plan. Nodes of a lab may be named
    /// without the lab's prefix.
    ///
    /// # Errors
    /// When a fault cannot be parsed or injected, or would change nothing in this copy.
    pub fn parse(words: &[String], copy: &InjectedCopy<'_>) -> Result<Self, Failure> {
        let mut injections = Self::default();
        let plan = copy.plan;
        for word in words {
            match parse_injection(word).map_err(Failure::usage)? {
                Wanted::AtHead(injection) => injections.add(word, HEAD, injection, copy)?,
                Wanted::At(name, injection) => {
                    let node = find(&name, word, plan)?.0;
                    injections.add(word, node, injection, copy)?;
                }
                Wanted::Clock(name, fault) => {
                    let name = find(&name, word, plan)?.1.to_owned();
                    if !inventory::is_local(&name) && !name.starts_with(LAB_PREFIX) {
                        let message =
                            format!("`{word}`: the clock of a real machine cannot be set wrong");
                        return Err(
                            Failure::usage(message).hint("use local[..] nodes, or those of a lab")
                        );
                    }
                    refuse_before_start(word, fault, clock::now_ns())?;
                    if injections.clocks.iter().any(|(other, _)| *other == name) {
                        return Err(duplicate_fault(word));
                    }
                    injections.clocks.push((name, fault));
                }
            }
        }
        Ok(injections)
    }

    fn add(
        &mut self,
        word: &str,
        node: NodeId,
        injection: Injection,
        copy: &InjectedCopy<'_>,
    ) -> Result<(), Failure> {
        refuse_without_effect(word, injection, copy)?;
        let kind = discriminant(&injection);
        if self.faults.iter().any(|(at, other)| *at == node && discriminant(other) == kind) {
            return Err(duplicate_fault(word));
        }
        self.faults.push((node, injection));
        Ok(())
    }
}

fn duplicate_fault(word: &str) -> Failure {
    Failure::usage(format!("`{word}`: this node already has a fault of this kind"))
        .hint("inject each in a copy of its own")
}

/// Refuses a fault that would change nothing in this copy.
fn refuse_without_effect(
    word: &str,
    injection: Injection,
    copy: &InjectedCopy<'_>,
) -> Result<(), Failure> {
    let refuse = |why: &str, hint: &str| {
        Err(Failure::usage(format!("`{word}`: it would change nothing: {why}")).hint(hint))
    };
    match injection {
        Injection::Rot(_) if copy.is_tree => {
            return refuse("the files of a tree have no common offsets", "copy one file of it");
        }
        Injection::Rot(_) if !copy.verifies => {
            return refuse("nobody reads the file again", "add --verify");
        }
        Injection::SourceDisk(_) | Injection::Pause(_) | Injection::Flip(_) if copy.is_shared => {
            return refuse("with --shared the nodes read the source themselves", "omit --shared");
        }
        _ => {}
    }
    let place = match injection {
        Injection::SourceDisk(stall) | Injection::SinkDisk(stall) | Injection::Pause(stall) => {
            stall.first
        }
        Injection::Rot(place) | Injection::Flip(place) => place,
        Injection::Fsync(_) | Injection::Control(_) => return Ok(()),
    };
    let Layout { length, open, .. } = copy.plan.layout;
    if !open && place >= length {
        let bytes = bytes::format(length);
        return refuse(&format!("the copy has {bytes}"), "name a smaller SIZE or PLACE");
    }
    Ok(())
}

/// Refuses a fault by which a clock would tell a time before its machine was started: there is
/// none, so that the clock would stand still. `now_ns` is the clock of this machine, which the
/// emulated nodes have.
fn refuse_before_start(word: &str, fault: ClockFault, now_ns: u64) -> Result<(), Failure> {
    let jump = fault.step.map_or(0, |(_, by)| by.min(0));
    let behind_ns = -(i128::from(fault.offset_ns) + i128::from(jump));
    if behind_ns <= i128::from(now_ns) {
        return Ok(());
    }
    let up = Nanos(now_ns);
    let message = format!("`{word}`: the clock would stand still, as this machine runs for {up}");
    Err(Failure::usage(message).hint("make the clock fast, or less slow"))
}

fn find<'a>(name: &str, word: &str, plan: &'a Plan) -> Result<(NodeId, &'a str), Failure> {
    let is_it = |planned: &str| {
        planned == name || planned.strip_prefix(LAB_PREFIX).is_some_and(|rest| rest == name)
    };
    plan.receivers()
        .find(|(_, node)| is_it(&node.name))
        .map(|(id, node)| (id, node.name.as_str()))
        .ok_or_else(|| {
            let message = format!("`{word}`: {name} is not a destination of this copy");
            Failure::usage(message).hint("specify the name of one node, as in the node list")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_is_before_the_start_of_its_machine() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let refused = |word: &str| {
            let Ok(Wanted::Clock(_, fault)) = parse_injection(word) else { panic!("{word}") };
            refuse_before_start(word, fault, HOUR_NS).err().map(|failure| failure.to_string())
        };
        let why = refused("clock:n2:-2h").expect("it is too slow");
        assert!(why.contains("`clock:n2:-2h`: the clock would stand still"), "{why}");
        assert!(refused("clock:n2:-30min,0ppm,-40min@1s").is_some());
        for word in ["clock:n2:-50min", "clock:n2:10h", "clock:n2:10h,0ppm,-11h@1s"] {
            assert_eq!(refused(word), None, "{word}");
        }
    }
}
