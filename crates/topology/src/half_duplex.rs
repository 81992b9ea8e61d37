//! Half-duplex ports.

use super::{Medium, MediumKind, NicId, Topology, Uplink};

/// Makes the port of a NIC half duplex: both directions take turns, as on a hub of the NIC and the
/// switch, which is put into the cable. A wire becomes a hub. A hub is half duplex already.
///
/// # Errors
/// If the medium has no rate, which a hub needs; the text is its name.
pub(super) fn halve(topology: &mut Topology, nic: NicId) -> Result<(), String> {
    let id = topology.nics[nic].medium;
    let Medium { name, kind, rate, cable, .. } = topology.media[id].clone();
    let shared = MediumKind::Hub { collisions: false };
    match kind {
        MediumKind::Hub { .. } => return Ok(()),
        _ if rate.is_none() => return Err(name),
        MediumKind::Wire => topology.media[id].kind = shared,
        MediumKind::Switch { .. } => {
            let port = topology.media.len();
            let name = format!("half-{port}");
            let hub = Medium { name, kind: shared, rate, cable, ..Medium::default() };
            topology.media.push(hub);
            topology.nics[nic].medium = port;
            topology.uplinks.push(Uplink { from: id, to: port, rate });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::max_min;
    use crate::shapes::{Basis, hub, star, switch};

    fn basis() -> Basis {
        Basis::numbered("try", 4).at("100mbit".parse().unwrap())
    }

    #[test]
    fn a_relay_at_a_half_duplex_port_passes_on_half() {
        let hops = [(0, 1), (1, 2), (3, 2)];
        let full = max_min(&switch(&basis(), None), &hops[..2]);
        let mut topology = switch(&basis(), None);
        halve(&mut topology, 1).unwrap();
        let half = max_min(&topology, &hops[..2]);
        // Acknowledgements take turns with the data, too.
        assert!(
            half.iter().zip(&full).all(|(half, full)| (0.46..0.5).contains(&(half / full))),
            "{half:?}"
        );
        // Others keep what they have.
        let other = max_min(&topology, &hops[2..]);
        assert!((other[0] / full[0] - 1.0).abs() < 1e-9, "{other:?}");
    }

    #[test]
    fn wires_become_hubs_and_hubs_stay() {
        let mut wires = star(&basis(), crate::shapes::Between::Isolated);
        halve(&mut wires, 1).unwrap();
        let halved = wires.media.iter().filter(|medium| medium.kind.is_hub()).count();
        assert_eq!((halved, wires.uplinks.len()), (1, 0));
        let mut shared = hub(&basis());
        halve(&mut shared, 1).unwrap();
        assert_eq!(shared, hub(&basis()));
        let mut free = switch(&Basis::numbered("try", 4), None);
        assert_eq!(halve(&mut free, 1), Err("switch".to_owned()));
    }
}
