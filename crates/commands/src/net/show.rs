//! `garland net show`: the drawing, parts and bounds of a topology.

use std::fmt::Write;

use garland_core::printable;
use garland_fleet::context::Context;
use garland_results::head::{Head, Phases, print_json};
use garland_sys::new_file;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use garland_topology::drawing;
use garland_topology::{Inventory, Price, Topology, scenarios};
use serde::Serialize;

use super::bounds::{Bound, find_bounds};
use super::tables;
use crate::args::NetShow;

/// The result object `garland.net-show/2`.
#[derive(Serialize)]
struct ShowResult {
    #[serde(flatten)]
    head: Head,
    inventory: Inventory,
    price: Price,
    bounds: Vec<Bound>,
    topology: Topology,
}

/// Shows a topology, and writes a drawing to a file with `--svg`.
pub fn run(context: &Context, show: &NetShow) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let topology = scenarios::load(&show.topology)?;
    phases.end("read");
    if let Some(file) = &show.svg {
        new_file::write_or_replace(file, drawing::svg(&topology).as_bytes()).map_err(|error| {
            Failure::nothing(format!("cannot write the drawing {}: {error}", printable::path(file)))
        })?;
    }
    if !context.json {
        output::print(page(&topology, show.all))?;
        return Ok(Exit::Done);
    }
    let inventory = Inventory::count(&topology);
    let price = inventory.price();
    let bounds = find_bounds(&topology);
    phases.end("compute");
    let head = Head::new("garland.net-show/2", None, phases);
    print_json(&ShowResult { head, inventory, price, bounds, topology })?;
    Ok(Exit::Done)
}

/// Returns the text that is shown for people.
fn page(topology: &Topology, all: bool) -> String {
    let mut page = format!("{}\n\n{}\n", topology.name, drawing::text(topology));
    page.push_str(&tables::nics(topology, all));
    let table = tables::routes(topology, all);
    if !table.is_empty() {
        page.push('\n');
        page.push_str(&table);
    }
    page.push('\n');
    page.push_str(&tables::inventory(&Inventory::count(topology)));
    page.push('\n');
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "{:<37}{:>5}{:>17}{:>12}{:>9}",
        "what the wires allow, TCP payload", "flows", "each, Mbit/s", "all, Mbit/s", "MB/s"
    );
    for bound in find_bounds(topology) {
        let _ = writeln!(page, "{bound}");
    }
    page
}

#[cfg(test)]
mod tests {
    use garland_core::units::Rate;
    use garland_topology::Selector;
    use garland_topology::shapes::{
        Basis, Between, Joined, JoinedStars, LeafSpine, Mesh, Segment, bonded, full_mesh, hub,
        joined_stars, leaf_spine, mesh, rail, ring, star, switch,
    };

    use super::*;

    fn basis(name: &str, nodes: u32, megabits: u64) -> Basis {
        Basis::numbered(name, nodes).at(Rate::from_bits_per_second(megabits * 1_000_000))
    }

    /// One of each shape.
    fn shapes() -> Vec<Topology> {
        let mesh_of = |name, joined, both| {
            mesh(&basis(name, 15, 10), &Mesh { columns: 4, segment: Segment::Hub, joined, both })
        };
        let trunk = Some(Rate::from_bits_per_second(1_000_000_000));
        let two_stars = JoinedStars { first: 4, trunk, wires: 1, selector: Selector::Packet };
        let fabric = LeafSpine { leaves: 2, spines: 2, uplink: trunk };
        let mut priced = switch(&basis("switch100", 3, 100), None);
        priced.nics.iter_mut().for_each(|nic| nic.price = Price(1500));
        priced.media[0].price = Price(6000);
        priced.media[0].cable.price = Price(250);
        vec![
            hub(&basis("hub10", 3, 10)),
            priced,
            star(&basis("p2p-star", 3, 100), Between::Isolated),
            star(&basis("p2p-16", 15, 100), Between::Forwarded),
            bonded(&basis("bonded-dual-net", 15, 10), 2, Segment::Hub, Selector::Packet),
            bonded(&basis("by-flow", 3, 10), 2, Segment::Switch, Selector::Flow),
            mesh_of("routed-mesh", Joined::Routed, None),
            mesh_of("switched-mesh-two-routes", Joined::Switched, Some(Selector::Packet)),
            joined_stars(&basis("p2p-joined", 7, 100), &two_stars),
            ring(&basis("ring", 5, 1000)),
            full_mesh(&basis("full-mesh", 3, 10_000)),
            leaf_spine(&basis("leaf-spine", 7, 1000), &fabric),
            rail(&basis("rails", 3, 100_000), 2),
            switch(&Basis::numbered("unshaped", 99), None),
        ]
    }

    #[test]
    fn every_shape_is_shown() {
        for topology in shapes() {
            insta::assert_snapshot!(topology.name.clone(), page(&topology, false));
        }
    }

    #[test]
    fn every_shape_is_drawn() {
        for topology in shapes() {
            let drawn = drawing::svg(&topology);
            let boxes = drawn.matches("<rect").count();
            assert_eq!(boxes, topology.nodes.len(), "{}", topology.name);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{}", topology.name);
            let tag = |tag: &str| drawn.matches(tag).count();
            for name in ["svg", "title", "text", "g"] {
                let opened = tag(&format!("<{name} ")) + tag(&format!("<{name}>"));
                assert_eq!(opened, tag(&format!("</{name}>")), "{name} of {}", topology.name);
            }
        }
        let p2p = star(&basis("p2p <star> & \"more\"", 3, 100), Between::Isolated);
        insta::assert_snapshot!("svg-star", drawing::svg(&p2p));
    }
}
