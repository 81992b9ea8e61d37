//! The token buckets of ports, and the device that all frames of a medium pass.

use garland_topology::MediumId;

use super::Port;
use crate::step::Step;
use crate::writer::MEDIA;
use crate::{device, shaping};

/// Returns the step that limits a port to its rate; `None` if the port has no rate. `buffer` is the
/// size of its buffer in bytes, if given; `exact` says whether frames are counted one by one.
pub(super) fn shape(port: &Port, buffer: Option<u64>, exact: bool) -> Option<Step> {
    let bucket = shaping::qdisc(port.rate?, exact).holding(buffer);
    Some(MEDIA.tc(format!("qdisc add dev {} root {bucket}", port.device)))
}

/// Returns the steps that create the IFB device of a medium and redirect to it all frames that
/// arrive at the ports.
pub(super) fn funnel(medium: MediumId, ports: &[Port]) -> Vec<Step> {
    let ifb = device::shared(medium);
    let mut steps =
        vec![MEDIA.ip(format!("link add {ifb} type ifb")), MEDIA.ip(format!("link set {ifb} up"))];
    steps.extend(ports.iter().flat_map(|Port { device, .. }| {
        [
            MEDIA.tc(format!("qdisc add dev {device} handle ffff: ingress")),
            MEDIA.tc(format!(
                "filter add dev {device} parent ffff: protocol all prio 1 u32 match u32 0 0 \
                 action mirred egress redirect dev {ifb}"
            )),
        ]
    }));
    steps
}
