//! The switch and the wire: a learning bridge with a token bucket at every port.

use garland_topology::{Medium, MediumId};

use super::Port;
use super::queue::{funnel, shape};
use crate::step::Step;
use crate::writer::MEDIA;
use crate::{device, shaping};

/// Returns the steps that create the token buckets of the ports. If the backplane has a rate, all
/// frames also pass a token bucket of that rate.
pub(super) fn queues(id: MediumId, medium: &Medium, ports: &[Port], exact: bool) -> Vec<Step> {
    let mut steps: Vec<Step> =
        ports.iter().filter_map(|port| shape(port, medium.buffer, exact)).collect();
    if let Some(rate) = medium.kind.backplane() {
        steps.extend(funnel(id, ports));
        let bucket = shaping::qdisc(rate.bits_per_second(), exact).holding(medium.buffer);
        steps.push(MEDIA.tc(format!("qdisc add dev {} root {bucket}", device::shared(id))));
    }
    steps
}
