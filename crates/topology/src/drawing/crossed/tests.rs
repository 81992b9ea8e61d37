use super::crossings;
use crate::Topology;
use crate::drawing::inline;
use crate::file::parse;

fn topology(shape: &str) -> Topology {
    parse(&format!("version = 1\n[topology]\n{shape}\n"), "a.toml").unwrap().topology
}

/// What the data from n0 to n3 crosses, such as `nic0> 1`, in a topology whose picture has all of
/// it.
fn from_first_to_third(topology: &Topology, rails: &[u16]) -> Vec<String> {
    let place = |number: u16| topology.node(&format!("n{number}"));
    let found = crossings(topology, [(0, 3), (9, 0)].into_iter(), place, rails);
    assert_eq!(found.len(), 1, "there is no n9");
    let picture = inline(topology);
    let told = found[0].cables.iter().map(|one| {
        assert!(picture.contains(&format!("data-cable=\"{}\"", one.cable)), "{}", one.cable);
        format!("{}{} {}", one.cable, if one.forth { '>' } else { '<' }, one.share)
    });
    told.collect()
}

#[test]
fn between_racks_data_crosses_ports_and_uplinks() {
    let racks = topology(
        "shape = \"leaf-spine\"\nnodes = \"n[0-3]\"\nleaves = 2\nspines = 2\nrate = \"1gbit\"\nuplink = \"100mbit\"",
    );
    let told = from_first_to_third(&racks, &[0]);
    // A switch chooses the spine by connection: either is as likely.
    assert_eq!(told[0], "nic0> 1", "{told:?}");
    assert_eq!(
        told.iter().filter(|one| one.contains("uplink") && one.ends_with(" 0.5")).count(),
        4
    );
    assert_eq!(told.iter().find(|one| one.starts_with("nic3")).unwrap(), "nic3< 1");
}

#[test]
fn hubs_are_crossed_with_their_ports_and_wires_in_one_direction() {
    let hub = topology("shape = \"hub\"\nnodes = \"n[0-3]\"\nrate = \"10mbit\"");
    assert_eq!(from_first_to_third(&hub, &[0]), ["hub0> 1", "nic0> 1", "nic3< 1"]);
    let ring = topology("shape = \"ring\"\nnodes = \"n[0-3]\"\nrate = \"10mbit\"");
    let told = from_first_to_third(&ring, &[0]);
    assert!(told.len() == 1 && told[0].starts_with("wire"), "{told:?}");
}

#[test]
fn each_rail_carries_its_part() {
    let rails = topology("shape = \"rail\"\nnodes = \"n[0-3]\"\nrails = 2\nrate = \"1gbit\"");
    let told = from_first_to_third(&rails, &[0, 1]);
    assert_eq!(told, ["nic0> 0.5", "nic6< 0.5", "nic1> 0.5", "nic7< 0.5"]);
    assert_eq!(from_first_to_third(&rails, &[0]), ["nic0> 1", "nic6< 1"]);
}
