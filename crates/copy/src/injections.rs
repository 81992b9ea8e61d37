//! `garland cp --inject`: parses faults and finds their nodes in the plan.

use garland_core::plan::{HEAD, NodeId, Plan};
use garland_protocol::copy::{ClockFault, Injection, Wanted, parse_injection};

use garland_fleet::inventory::{self, LAB_PREFIX};
use garland_terminal::failure::Failure;

/// The faults to inject in a command.
#[derive(Debug, Default)]
pub struct Injections {
    /// The faults of the copy, each with the node where it occurs.
    pub faults: Vec<(NodeId, Injection)>,
    /// The faults of clocks, each with the name of the node.
    pub clocks: Vec<(String, ClockFault)>,
}

impl Injections {
    /// Parses `words` and finds the nodes of the faults in the plan. Nodes of a lab may be named
    /// without the lab's prefix.
    pub fn parse(words: &[String], plan: &Plan) -> Result<Self, Failure> {
        let mut injections = Self::default();
        for word in words {
            match parse_injection(word).map_err(Failure::usage)? {
                Wanted::AtHead(injection) => injections.faults.push((HEAD, injection)),
                Wanted::At(name, injection) => {
                    injections.faults.push((find(&name, word, plan)?.0, injection));
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
                    injections.clocks.push((name, fault));
                }
            }
        }
        Ok(injections)
    }
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
