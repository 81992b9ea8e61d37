//! Tests of errors: an unsupported configuration names the formats that support it.

use garland_core::nic_facts::Ethernet;

use super::super::super::Selector;
use super::super::super::shapes::{Basis, Between, Joined, Mesh, Segment, bonded, mesh, star};
use super::super::{Format, NicNames, NodeConfig};
use super::files;

fn names(pairs: &[(&str, &str)]) -> NicNames {
    pairs.iter().map(|&(nic, name)| (nic.to_owned(), name.to_owned())).collect()
}

#[test]
fn names_of_real_machines() {
    let p2p = star(&Basis::numbered("star", 2), Between::Isolated);
    let given = names(&[("eth1", "enp3s0")]);
    let config = NodeConfig::for_node(&p2p, 0, &given).unwrap();
    let devices: Vec<_> = config.interfaces.iter().map(|nic| nic.device.name.as_str()).collect();
    assert_eq!(devices, ["eth0", "enp3s0"]);

    let said = |pairs: &[(&str, &str)]| {
        NodeConfig::for_node(&p2p, 0, &names(pairs)).unwrap_err().to_string()
    };
    assert_eq!(said(&[("eth2", "a")]), "n0 has no NIC eth2; it has eth0, eth1");
    assert_eq!(
        said(&[("eth1", "eth0")]),
        "two NICs of n0 have the device name eth0: change one with --map"
    );
    for wrong in ["", "a b", "$(x)", "-a", "a/b", "../x", "sixteen-letters-", "a\nb", "ä"] {
        let message = said(&[("eth1", wrong)]);
        assert!(
            message.contains("is not a valid name for eth1 of n0: a device name has"),
            "{message}"
        );
    }
}

#[test]
fn a_real_ethernet_address_is_what_a_nic_is_found_by() {
    let mut p2p = star(&Basis::numbered("star", 1), Between::Isolated);
    p2p.nics[0].ethernet = Ethernet([0x52, 0x54, 0, 0xab, 0xcd, 0xef]);
    let text = |format, given: &[(&str, &str)]| {
        let written = files(&p2p, 0, format, &names(given))?;
        Ok::<_, super::super::ConfigFault>(
            written.into_iter().map(|file| file.text).collect::<String>(),
        )
    };
    for format in [Format::Networkd, Format::NetworkManager] {
        assert!(text(format, &[]).unwrap().contains("52:54:00:ab:cd:ef"), "{format:?}");
        assert!(!text(format, &[("eth0", "lan")]).unwrap().contains("52:54"), "{format:?}");
    }
    assert_eq!(
        text(Format::Ifupdown, &[]).unwrap_err().to_string(),
        "ifupdown needs the device name of eth0 of n0, but the topology has its Ethernet address only: \
         use --map eth0=NAME"
    );
    assert!(text(Format::Ifupdown, &[("eth0", "lan")]).is_ok());
}

#[test]
fn a_format_without_the_word_names_those_that_have_it() {
    let basis = Basis::numbered("t", 3);
    let said =
        |topology, format| files(topology, 3, format, &NicNames::new()).unwrap_err().to_string();
    let subflows = bonded(&basis, 2, Segment::Switch, Selector::Subflow);
    assert_eq!(
        said(&subflows, Format::Networkd),
        "networkd does not support the MPTCP endpoint 10.89.0.13 of n3; ifupdown does"
    );
    let two_ways = |selector| {
        let joined = Joined::Routed;
        let both = Some(selector);
        mesh(&basis, &Mesh { columns: 2, segment: Segment::Switch, joined, both })
    };
    assert_eq!(
        said(&two_ways(Selector::Flow), Format::NetworkManager),
        "networkmanager does not support the source address 10.88.0.13 of the route to 10.88.0.10/32 of n3; \
         ifupdown and networkd do"
    );
}
