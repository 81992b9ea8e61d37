use std::fmt;

use garland_core::cluster::nodelist::{NoSources, expand, fold};
use garland_core::units::Rate;

use super::values::{BETWEEN, JOINED, SEGMENTS, SELECTORS};
use crate::Topology;
use crate::shapes::{Basis, Bonded, JoinedStars, LeafSpine, Mesh, Shape};

/// A shape with its basis. It is printed as a topology file.
///
/// ```
/// use garland_topology::file::{Sketch, parse};
/// use garland_topology::shapes::{Basis, Shape};
/// let sketch = Sketch { basis: Basis::numbered("den", 3), shape: Shape::Ring };
/// let text = sketch.to_string();
/// assert!(text.ends_with("[topology]\nshape = \"ring\"\nnodes = \"n[0-3]\"\nsubnet = \"10.88.0.0/16\"\n"));
/// assert_eq!(parse(&text, "den.toml")?.topology, sketch.draw());
/// # Ok::<(), garland_topology::file::TopologyFileError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Name, nodes, rate and addresses.
    pub basis: Basis,
    /// The shape and its own parameters.
    pub shape: Shape,
}

impl Sketch {
    /// Returns the topology of the shape.
    pub fn draw(&self) -> Topology {
        self.shape.draw(&self.basis)
    }
}

impl fmt::Display for Sketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { basis, shape } = self;
        writeln!(f, "version = 1")?;
        writeln!(f, "name = {}\n", toml::Value::from(basis.name.as_str()))?;
        writeln!(f, "[topology]")?;
        writeln!(f, "shape = \"{}\"", shape.name())?;
        writeln!(f, "nodes = \"{}\"", names(&basis.nodes))?;
        rate(f, "rate", basis.rate)?;
        writeln!(f, "subnet = \"{}\"", basis.subnet)?;
        own_keys(f, shape, basis.nodes.len())
    }
}

fn own_keys(f: &mut fmt::Formatter<'_>, shape: &Shape, nodes: usize) -> fmt::Result {
    match shape {
        Shape::Hub | Shape::Ring | Shape::FullMesh => Ok(()),
        Shape::Switch { backplane } => rate(f, "backplane", *backplane),
        Shape::Star(between) => word(f, "between", &BETWEEN, *between),
        Shape::Bonded(Bonded { nets, segment, selector }) => {
            writeln!(f, "nets = {nets}")?;
            word(f, "segments", &SEGMENTS, *segment)?;
            word(f, "selector", &SELECTORS, *selector)
        }
        Shape::Mesh(mesh) => grid(f, mesh, nodes),
        Shape::Joined(JoinedStars { first, trunk, wires, selector }) => {
            writeln!(f, "first = {first}")?;
            rate(f, "trunk", *trunk)?;
            writeln!(f, "wires = {wires}")?;
            if *wires > 1 { word(f, "selector", &SELECTORS, *selector) } else { Ok(()) }
        }
        Shape::LeafSpine(LeafSpine { leaves, spines, uplink }) => {
            writeln!(f, "leaves = {leaves}\nspines = {spines}")?;
            rate(f, "uplink", *uplink)
        }
        Shape::Rail { rails } => writeln!(f, "rails = {rails}"),
    }
}

fn grid(f: &mut fmt::Formatter<'_>, mesh: &Mesh, nodes: usize) -> fmt::Result {
    let columns = usize::try_from(mesh.columns).unwrap_or(usize::MAX).max(1);
    writeln!(f, "rows = {}\ncolumns = {columns}", nodes.div_ceil(columns))?;
    word(f, "segments", &SEGMENTS, mesh.segment)?;
    word(f, "joined", &JOINED, mesh.joined)?;
    match mesh.both {
        None => writeln!(f, "routes = 1"),
        Some(selector) => {
            writeln!(f, "routes = 2")?;
            word(f, "selector", &SELECTORS, selector)
        }
    }
}

/// Returns the node list, folded if that keeps the order of the nodes: the first one is the head.
fn names(nodes: &[String]) -> String {
    let folded = fold(nodes);
    let kept = expand(&folded, &NoSources).is_ok_and(|names| names == nodes);
    if kept { folded } else { nodes.join(",") }
}

fn rate(f: &mut fmt::Formatter<'_>, key: &str, rate: Option<Rate>) -> fmt::Result {
    let Some(bits) = rate.map(Rate::bits_per_second) else {
        return Ok(());
    };
    let units = [("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1000), ("bit", 1)];
    let whole = units.into_iter().find(|(_, unit)| bits.is_multiple_of(*unit));
    let (unit, size) = whole.unwrap_or(("bit", 1));
    writeln!(f, "{key} = \"{}{unit}\"", bits / size)
}

/// Prints `key` with the word that `words` gives for `value`; prints nothing if there is none.
fn word<T: PartialEq>(
    f: &mut fmt::Formatter<'_>,
    key: &str,
    words: &[(&str, T)],
    value: T,
) -> fmt::Result {
    let word = words.iter().find(|(_, known)| *known == value);
    word.map_or(Ok(()), |(word, _)| writeln!(f, "{key} = \"{word}\""))
}
