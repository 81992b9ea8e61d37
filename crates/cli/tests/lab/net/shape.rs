//! Topology files of tests.

use garland_testkit::Scratch;
use garland_topology::{Topology, file};

use crate::net::stage::path_text;

/// A topology, and the file that it is read from.
#[derive(Clone)]
pub struct Shape {
    pub text: String,
    pub topology: Topology,
}

impl Shape {
    /// The shape that these lines of `[topology]` say.
    pub fn new(name: &str, lines: &str) -> Self {
        let text = format!("version = 1\nname = \"{name}\"\n\n[topology]\n{lines}\n");
        let topology = file::parse(&text, name).unwrap_or_else(|fault| panic!("{fault}")).topology;
        Self { text, topology }
    }

    /// The star of 2004: the server has its address on all NICs, and nodes see nothing else.
    pub fn published() -> Self {
        Self::new("published", "shape = \"star\"\nnodes = \"srv,n[2-4]\"\nbetween = \"isolated\"")
    }

    /// A star whose head passes on what nodes send each other.
    pub fn forwarded() -> Self {
        Self::new("forwarded", "shape = \"star\"\nnodes = 2\nbetween = \"forwarded\"")
    }

    /// Two nets across all nodes.
    pub fn dual(selector: &str) -> Self {
        let lines = format!("shape = \"bonded\"\nnodes = 2\nselector = \"{selector}\"");
        Self::new("dual", &lines)
    }

    /// Two rows of two, and so many routes to the node across.
    pub fn grid(routes: &str) -> Self {
        let lines = "shape = \"mesh\"\nnodes = 3\nrows = 2\ncolumns = 2\nsegments = \"switch\"";
        Self::new("grid", &format!("{lines}\n{routes}"))
    }

    /// Writes the file; gives its path.
    pub fn file(&self, scratch: &Scratch) -> String {
        let path = scratch.path(format!("{}.toml", self.topology.name));
        std::fs::write(&path, &self.text).expect("it can be written");
        path_text(&path)
    }
}
