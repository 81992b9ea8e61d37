//! The kernel features that a lab needs. They are tested before anything is built.

use garland_topology::{Selector, Topology};

use crate::tool::Tool;
use crate::{LabError, delay};

/// A kernel feature that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    Veth,
    Bridge,
    Tbf,
    Ingress,
    U32,
    Mirred,
    Ifb,
    Htb,
    Nftables,
    Egress,
    Mptcp,
    Netem,
}

/// The name of the device that the trials of kernel features create.
const TRIAL: &str = "gtrial";

impl Feature {
    /// Returns the feature's name and the kernel options that provide it.
    fn name(self) -> &'static str {
        match self {
            Feature::Veth => "veth (CONFIG_VETH)",
            Feature::Bridge => "bridges (CONFIG_BRIDGE)",
            Feature::Tbf => "the token bucket filter (CONFIG_NET_SCH_TBF)",
            Feature::Ingress => "ingress queueing (CONFIG_NET_SCH_INGRESS)",
            Feature::U32 => "the tc filter u32 (CONFIG_NET_CLS_U32)",
            Feature::Mirred => "the tc action mirred (CONFIG_NET_ACT_MIRRED)",
            Feature::Ifb => "ifb (CONFIG_IFB)",
            Feature::Htb => "htb (CONFIG_NET_SCH_HTB)",
            Feature::Nftables => "nftables with numgen (CONFIG_NF_TABLES, CONFIG_NFT_NUMGEN)",
            Feature::Egress => {
                "nftables with egress hooks, fwd and jhash (CONFIG_NETFILTER_EGRESS, \
                 CONFIG_NFT_FWD_NETDEV, CONFIG_NFT_HASH)"
            }
            Feature::Mptcp => "MPTCP (CONFIG_MPTCP)",
            Feature::Netem => "netem (CONFIG_NET_SCH_NETEM)",
        }
    }

    /// Returns a tool, input that the tool accepts only if the kernel has this feature, and input
    /// that undoes the effect. Trials can use the device `lo`: it always exists, and nothing uses
    /// it yet.
    fn trial(self) -> (Tool, &'static str, &'static str) {
        const LINK: &str = "link del gtrial";
        const ROOT: &str = "qdisc del dev lo root";
        const INGRESS: &str = "qdisc del dev lo ingress";
        match self {
            Feature::Veth => (Tool::Ip, "link add gtrial type veth peer name gtrial2", LINK),
            Feature::Bridge => (Tool::Ip, "link add gtrial type bridge", LINK),
            Feature::Ifb => (Tool::Ip, "link add gtrial type ifb", LINK),
            Feature::Tbf => {
                (Tool::Tc, "qdisc add dev lo root tbf rate 1mbit burst 2000 limit 2000", ROOT)
            }
            Feature::Htb => (Tool::Tc, "qdisc add dev lo root handle 1: htb", ROOT),
            Feature::Ingress => (Tool::Tc, "qdisc add dev lo handle ffff: ingress", INGRESS),
            Feature::U32 => (
                Tool::Tc,
                "qdisc add dev lo handle ffff: ingress\n\
                 filter add dev lo parent ffff: protocol all prio 1 u32 match u32 0 0",
                INGRESS,
            ),
            Feature::Mirred => (
                Tool::Tc,
                "qdisc add dev lo handle ffff: ingress\n\
                 filter add dev lo parent ffff: protocol all prio 1 u32 match u32 0 0 action \
                 mirred egress redirect dev lo",
                INGRESS,
            ),
            Feature::Nftables => (
                Tool::Nft,
                "table ip gtrial {\nchain c {\n\
                 meta mark set numgen inc mod 2 map { 0 : 1, 1 : 2 }\n}\n}",
                "delete table ip gtrial",
            ),
            Feature::Egress => (
                Tool::Nft,
                "table netdev gtrial { chain c { type filter hook egress device \"lo\" priority 0;\n\
                 ether type ip fwd to jhash ip saddr mod 2 map { 0 : \"lo\", 1 : \"lo\" }\n\
                 fwd to numgen inc mod 2 map { 0 : \"lo\", 1 : \"lo\" }\n}\n}",
                "delete table netdev gtrial",
            ),
            Feature::Mptcp => {
                (Tool::Ip, "mptcp limits set subflows 1", "mptcp limits set subflows 0")
            }
            Feature::Netem => (Tool::Tc, "qdisc add dev lo root netem delay 1ms", ROOT),
        }
    }
}

/// Returns the features that a topology needs.
pub(crate) fn needed(topology: &Topology) -> Vec<Feature> {
    let mut features = vec![Feature::Veth, Feature::Bridge];
    if topology.media.iter().any(|medium| medium.rate.is_some()) {
        features.push(Feature::Tbf);
    }
    let hub = topology.media.iter().any(|medium| medium.kind.is_hub());
    let is_funnelled = hub || topology.media.iter().any(|medium| medium.kind.backplane().is_some());
    if is_funnelled {
        features.push(Feature::Ifb);
    }
    if is_funnelled || delay::is_wanted(topology) {
        features.extend([Feature::Ingress, Feature::U32, Feature::Mirred]);
    }
    if hub {
        features.push(Feature::Htb);
    }
    let in_turn = |hops: usize, selector: Selector| hops > 1 && selector == Selector::Packet;
    if topology.routes.iter().any(|route| in_turn(route.hops.len(), route.selector)) {
        features.push(Feature::Nftables);
    }
    let bonded = |by: fn(Selector) -> bool| topology.bonds.iter().any(|bond| by(bond.selector));
    if bonded(|selector| selector != Selector::Subflow) {
        features.push(Feature::Egress);
    }
    if bonded(|selector| selector == Selector::Subflow) {
        features.push(Feature::Mptcp);
    }
    features
}

/// Returns those of `features` that the kernel lacks. Each is tried in the caller's network
/// namespace.
///
/// # Errors
/// When a tool that the trials need is missing.
pub(crate) fn missing(features: &[Feature]) -> Result<Vec<Feature>, LabError> {
    let mut missing = Vec::new();
    for &feature in features {
        let (tool, does, undoes) = feature.trial();
        if tool.run(tool.batch()?, &format!("{does}\n"), TRIAL).is_err() {
            missing.push(feature);
        }
        // Undo partial trials as well; an error means that there is nothing to undo.
        let _ = tool.run(tool.batch()?, &format!("{undoes}\n"), TRIAL);
    }
    Ok(missing)
}

/// Returns the error for missing features, which says what works without them.
pub(crate) fn unavailable(missing: &[Feature]) -> LabError {
    let names: Vec<&str> = missing.iter().map(|feature| feature.name()).collect();
    let works = if missing.iter().any(|it| matches!(it, Feature::Veth | Feature::Bridge)) {
        "no lab works without this"
    } else if missing.contains(&Feature::Tbf) {
        "switches and wires without a rate work without this"
    } else if missing == [Feature::Htb] {
        "switches and wires work without this"
    } else if missing == [Feature::Nftables] {
        "hubs, switches, wires, and routes with one hop or the selector flow work without this"
    } else if missing == [Feature::Egress] {
        "topologies without bonds, and bonds with the selector subflow, work without this"
    } else if missing == [Feature::Mptcp] {
        "topologies without bonds, and bonds with the selectors packet and flow, work without this"
    } else {
        "switches and wires without backplane and delay work without this"
    };
    let problem = format!("this kernel does not support {}", names.join(", "));
    LabError::Unavailable { problem, hint: works.to_owned() }
}

#[cfg(test)]
mod tests {
    use garland_topology::shapes::{Basis, hub};

    use super::*;
    use crate::Spec;

    #[test]
    fn a_hub_needs_more_than_a_switch() {
        let switch = needed(&Spec::switch("lab", 1, None).topology);
        assert_eq!(switch, [Feature::Veth, Feature::Bridge]);
        let hub = needed(&hub(&Basis::numbered("hub", 2).at("10mbit".parse().unwrap())));
        for feature in [Feature::Tbf, Feature::Ifb, Feature::Htb, Feature::U32, Feature::Mirred] {
            assert!(hub.contains(&feature), "{feature:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_what_still_works() {
        let error = unavailable(&[Feature::Ifb, Feature::Htb]);
        assert_eq!(
            error.to_string(),
            "this kernel does not support ifb (CONFIG_IFB), htb (CONFIG_NET_SCH_HTB); switches \
             and wires without backplane and delay work without this"
        );
    }
}
