//! The shapes and their keys.

use std::ops::Range;

use garland_core::form::Section;
use toml::de::DeTable;

use super::error::Fault;
use super::values::{BETWEEN, JOINED, SEGMENTS, SELECTORS, out_of_place, rate};
use super::{basis, explicit, overrides};
use crate::Topology;
use crate::shapes::{Basis, Bonded, JoinedStars, LeafSpine, Mesh, Segment, Shape};

/// The keys of `[topology]` that all shapes have.
const TOPOLOGY_KEYS: [&str; 12] = [
    "shape",
    "nodes",
    "rate",
    "subnet",
    "mtu",
    "delay",
    "buffer",
    "collisions",
    "cable",
    "price",
    "node",
    "medium",
];

/// The maximum number of nets, rails, spines, and wires of a trunk.
const MOST_NETS: u32 = 16;

/// A function that reads the keys that only one shape has.
type Read = fn(&Section<'_>, &Basis) -> Result<Shape, Fault>;

/// The name, the own keys and the reader of each shape, in the order of messages.
const SHAPES: [(&str, &[&str], Read); 10] = [
    ("hub", &[], |_, _| Ok(Shape::Hub)),
    ("switch", &["backplane"], |section, _| {
        Ok(Shape::Switch { backplane: rate(section, "backplane")? })
    }),
    ("star", &["between"], star),
    ("bonded", &["nets", "segments", "selector"], bonded),
    ("mesh", &["rows", "columns", "segments", "joined", "routes", "selector"], mesh),
    ("joined", &["first", "trunk", "wires", "selector"], joined),
    ("ring", &[], ring),
    ("full-mesh", &[], full_mesh),
    ("leaf-spine", &["leaves", "spines", "uplink"], leaf_spine),
    ("rail", &["rails"], rail),
];

/// Reads `[topology]`; `file` is the text of the whole file.
pub(super) fn read<'t>(
    file: &str,
    name: &str,
    span: Range<usize>,
    table: &'t DeTable<'t>,
) -> Result<(Section<'t>, Topology), Fault> {
    const TITLE: &str = "[topology]";
    let mut words = SHAPES.map(|(name, keys, read)| (name, Some((keys, read)))).to_vec();
    words.push(("explicit", None));
    let any = Section::open(TITLE, span.clone(), table);
    let chosen = any.word("shape", &words)?;
    let chosen = chosen.ok_or_else(|| any.missing("shape", "`shape = \"switch\"`"))?;
    let own = chosen.map_or(&explicit::KEYS[..], |(keys, _)| keys);
    let allowed = [&TOPOLOGY_KEYS[..], own].concat();
    let section = Section::new(TITLE, span, table, &allowed)?;
    let basis = basis::read(file, &section, name)?;
    let mut topology = match chosen {
        Some((_, read)) => read(&section, &basis)?.draw(&basis),
        None => explicit::read(file, &section, &basis)?,
    };
    overrides::read(file, &section, chosen.is_none(), &mut topology)?;
    Ok((section, topology))
}

fn star(section: &Section<'_>, _: &Basis) -> Result<Shape, Fault> {
    Ok(Shape::Star(section.word("between", &BETWEEN)?.unwrap_or_default()))
}

fn bonded(section: &Section<'_>, _: &Basis) -> Result<Shape, Fault> {
    Ok(Shape::Bonded(Bonded {
        nets: section.integer("nets", 2..=MOST_NETS)?.unwrap_or(2),
        segment: section.word("segments", &SEGMENTS)?.unwrap_or_default(),
        selector: section.word("selector", &SELECTORS)?.unwrap_or_default(),
    }))
}

fn mesh(section: &Section<'_>, basis: &Basis) -> Result<Shape, Fault> {
    /// The maximum number of nodes of a mesh: 16 x 16.
    const MAX_MESH_NODES: usize = 256;
    at_most(section, basis, "mesh", MAX_MESH_NODES, "every node has a route to every other one")?;
    let side = |key, example| {
        let number = section.integer(key, 1..=MAX_MESH_NODES as u32)?;
        number.ok_or_else(|| section.missing(key, example))
    };
    let rows = side("rows", "`rows = 4`")?;
    let columns = side("columns", "`columns = 4`")?;
    let nodes = basis.nodes.len();
    if nodes != (rows * columns) as usize {
        let product = rows * columns;
        let message = format!(
            "{rows} rows x {columns} columns are {product} nodes, but `nodes` gives {nodes} nodes with the head; if `nodes` is a number, it must be {}",
            product.saturating_sub(1)
        );
        return Err(Fault::contents(section.span_of("nodes"), message));
    }
    let selector = section.word("selector", &SELECTORS[..2])?;
    let both = match section.integer("routes", 1..=2)? {
        Some(2) => Some(selector.unwrap_or_default()),
        _ if selector.is_some() => {
            let reason = "with one route there is nothing to select; write `routes = 2`, or remove `selector`";
            return Err(out_of_place(section, "selector", reason));
        }
        _ => None,
    };
    Ok(Shape::Mesh(Mesh {
        columns,
        segment: section.word("segments", &SEGMENTS)?.unwrap_or(Segment::Hub),
        joined: section.word("joined", &JOINED)?.unwrap_or_default(),
        both,
    }))
}

fn joined(section: &Section<'_>, basis: &Basis) -> Result<Shape, Fault> {
    let nodes = u32::try_from(basis.nodes.len()).unwrap_or(u32::MAX);
    let wires = section.integer("wires", 1..=MOST_NETS)?.unwrap_or(1);
    let selector = section.word("selector", &SELECTORS[..2])?;
    if wires == 1 && selector.is_some() {
        let reason =
            "with one wire there is nothing to select; write `wires = 2`, or remove `selector`";
        return Err(out_of_place(section, "selector", reason));
    }
    let first = section.integer("first", 1..=nodes.saturating_sub(1).max(1))?;
    Ok(Shape::Joined(JoinedStars {
        first: first.unwrap_or(nodes.div_ceil(2)),
        trunk: rate(section, "trunk")?,
        wires,
        selector: selector.unwrap_or_default(),
    }))
}

fn ring(section: &Section<'_>, basis: &Basis) -> Result<Shape, Fault> {
    at_most(
        section,
        basis,
        "ring",
        128,
        "a packet passes at most 64 hops, and the longest path is half of the ring",
    )?;
    Ok(Shape::Ring)
}

fn full_mesh(section: &Section<'_>, basis: &Basis) -> Result<Shape, Fault> {
    at_most(section, basis, "full mesh", 65, "no machine has more than 64 NICs")?;
    Ok(Shape::FullMesh)
}

fn leaf_spine(section: &Section<'_>, basis: &Basis) -> Result<Shape, Fault> {
    let nodes = u32::try_from(basis.nodes.len()).unwrap_or(u32::MAX);
    let leaves = section.integer("leaves", 1..=nodes.max(1))?;
    let spines = section.integer("spines", 1..=MOST_NETS)?;
    Ok(Shape::LeafSpine(LeafSpine {
        leaves: leaves.ok_or_else(|| section.missing("leaves", "`leaves = 4`"))?,
        spines: spines.ok_or_else(|| section.missing("spines", "`spines = 2`"))?,
        uplink: rate(section, "uplink")?,
    }))
}

fn rail(section: &Section<'_>, _: &Basis) -> Result<Shape, Fault> {
    let rails = section.integer("rails", 1..=MOST_NETS)?;
    let rails = rails.ok_or_else(|| section.missing("rails", "`rails = 2`"))?;
    Ok(Shape::Rail { rails })
}

fn at_most(
    section: &Section<'_>,
    basis: &Basis,
    shape: &str,
    most: usize,
    reason: &str,
) -> Result<(), Fault> {
    let found = basis.nodes.len();
    if found <= most {
        return Ok(());
    }
    let message = format!("{found} nodes: a {shape} has at most {most}, since {reason}");
    Err(Fault::contents(section.span_of("nodes"), message))
}
