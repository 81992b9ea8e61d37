//! Converts the description of a lab to the steps that build the lab, in the order of execution.
//!
//! Steps are never undone: they change only namespaces of the keeper, which disappear when the
//! keeper ends.

use crate::shaping::Shaping;
use crate::{DelayBy, Spec, delay, medium, node};

pub use crate::step::{Place, Step};
pub use crate::tool::Tool;

/// Returns the steps that build the lab `spec`: media, nodes, cables, queues of media, delays,
/// network settings of nodes. `delay_by` says what holds the frames of media with a delay; the
/// lab's own delay line works beside these steps.
pub fn steps(spec: &Spec, delay_by: DelayBy) -> Vec<Step> {
    let topology = &spec.cabled();
    let shaping = Shaping::new(topology);
    let mut steps = medium::bridges(topology);
    steps.extend(topology.nodes.iter().map(|node| Step::Namespace { node: node.name.clone() }));
    steps.extend(medium::cables(topology));
    steps.extend(medium::queues(topology, &shaping));
    steps.extend(delay::steps(topology, delay_by));
    steps.extend((0..topology.nodes.len()).flat_map(|id| node::steps(topology, &shaping, id)));
    steps
}

#[cfg(test)]
mod tests {
    use garland_topology::shapes::*;
    use garland_topology::{Selector, Topology};

    use super::*;

    fn printed(nodes: u32, rate: Option<u64>) -> String {
        lines(&Spec::switch("lab", nodes, rate))
    }

    fn lines(spec: &Spec) -> String {
        let lines: Vec<_> = steps(spec, DelayBy::Netem).iter().map(Step::to_string).collect();
        lines.join("\n")
    }

    /// Returns the steps of a topology, without the settings that all nodes have in common.
    fn of(topology: Topology) -> String {
        let spec = Spec { name: "lab".to_owned(), topology, roots: None, faults: Vec::new() };
        spec.validate().unwrap();
        let common = ["_media sysctl", "disable_ipv6", "tcp_rmem", "tcp_wmem", "set lo up"];
        let all = lines(&spec);
        let own = all.lines().filter(|line| !common.iter().any(|common| line.contains(common)));
        own.collect::<Vec<_>>().join("\n")
    }

    fn basis(nodes: u32) -> Basis {
        Basis::numbered("shape", nodes).at("10mbit".parse().unwrap())
    }

    #[test]
    fn a_hub() {
        insta::assert_snapshot!(of(hub(&basis(2))));
    }

    #[test]
    fn a_backplane() {
        insta::assert_snapshot!(of(switch(&basis(1), Some("15mbit".parse().unwrap()))));
    }

    #[test]
    fn a_star() {
        insta::assert_snapshot!(of(star(&basis(2), Between::Forwarded)));
    }

    #[test]
    fn a_routed_mesh() {
        let measures = Mesh {
            columns: 2,
            segment: Segment::Hub,
            joined: Joined::Routed,
            both: Some(Selector::Packet),
        };
        insta::assert_snapshot!(of(mesh(&basis(3), &measures)));
    }

    #[test]
    fn a_switched_mesh() {
        let measures =
            Mesh { columns: 2, segment: Segment::Hub, joined: Joined::Switched, both: None };
        insta::assert_snapshot!(of(mesh(&basis(3), &measures)));
    }

    #[test]
    fn a_ring() {
        insta::assert_snapshot!(of(ring(&basis(2))));
    }

    #[test]
    fn leaves_and_spines() {
        let measures = LeafSpine { leaves: 2, spines: 2, uplink: None };
        insta::assert_snapshot!(of(leaf_spine(&basis(3), &measures)));
    }

    #[test]
    fn a_slow_switch() {
        insta::assert_snapshot!(printed(2, Some(100_000_000)));
    }

    #[test]
    fn a_fast_switch() {
        insta::assert_snapshot!(printed(1, Some(1_000_000_000)));
    }

    #[test]
    fn an_unshaped_switch_has_no_queue() {
        let steps = printed(3, None);
        assert!(!steps.contains("tc "), "{steps}");
        assert!(steps.contains("ip -n n3 addr add 10.88.0.13/16 dev eth0"));
    }
}
