//! Token buckets of ports, and the device that all frames of a medium pass through.

use garland_topology::MediumId;

use super::{Port, ip, tc};
use crate::plan::Step;
use crate::{device, shaping};

/// A port sends as fast as its wire is, and holds `buffer` bytes.
pub(super) fn shape(port: &Port, buffer: Option<u64>, exact: bool) -> Option<Step> {
    let bucket = shaping::qdisc(port.rate?, exact).holding(buffer);
    Some(tc(format!("qdisc add dev {} root {bucket}", port.device)))
}

/// The device that the frames of all ports go through on their way in.
pub(super) fn funnel(medium: MediumId, ports: &[Port]) -> Vec<Step> {
    let shared = device::shared(medium);
    let mut steps =
        vec![ip(format!("link add {shared} type ifb")), ip(format!("link set {shared} up"))];
    steps.extend(ports.iter().flat_map(|Port { device, .. }| {
        [
            tc(format!("qdisc add dev {device} handle ffff: ingress")),
            tc(format!(
                "filter add dev {device} parent ffff: protocol all prio 1 u32 match u32 0 0 \
                 action mirred egress redirect dev {shared}"
            )),
        ]
    }));
    steps
}
