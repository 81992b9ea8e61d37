//! Variants of topologies: with other numbers of nodes or NICs, or other rates, than in the file.

use std::collections::HashMap;

use garland_core::units::Rate;
use garland_sys::error::reason;
use garland_terminal::failure::{Failure, OrFailure};
use garland_topology::file::parse;
use garland_topology::{Topology, scenarios};
use toml::{Table, Value};

/// The maximum number of nodes of a generated topology, not counting the first.
pub const MAX_DRAWN_NODES: u32 = 1000;

/// The text of a topology, from which variants can be generated.
pub struct Drawn {
    name: String,
    text: String,
    /// The generated topologies, by their number of nodes, not counting the first.
    known: HashMap<u32, Topology>,
}

/// Shapes whose only parameters are nodes and rate.
const PLAIN: [&str; 6] = ["hub", "switch", "star", "ring", "full-mesh", "rail"];

impl Drawn {
    /// Loads a topology file, scenario or plain shape, and changes its rate or number of NICs if
    /// specified.
    pub fn load(name: &str, rate: Option<&str>, nics: Option<u16>) -> Result<Self, Failure> {
        let content = match scenarios::text(name).filter(|_| !scenarios::is_file(name)) {
            Some(known) => known.to_owned(),
            None if PLAIN.contains(&name) => {
                format!("version = 1\n[topology]\nshape = \"{name}\"\nnodes = 1\n")
            }
            None => std::fs::read_to_string(name).map_err(|error| {
                Failure::usage(format!("cannot read the topology {name}: {}", reason(&error))).hint(
                    format!(
                        "specify a file, a scenario, or one of these shapes: {}",
                        PLAIN.join(", ")
                    ),
                )
            })?,
        };
        let mut drawn = Self { name: name.to_owned(), text: content, known: HashMap::new() };
        if let Some(rate) = rate {
            let _: Rate = rate.parse()?;
            drawn.text = drawn.changed(|topology| {
                topology.insert("rate".to_owned(), Value::String(rate.to_owned()));
                Ok(())
            })?;
        }
        if let Some(nics) = nics.filter(|nics| *nics > 1) {
            drawn.text = drawn.changed(|topology| with_nics(topology, nics))?;
        }
        Ok(drawn)
    }

    /// Returns the topology with `nodes` nodes, not counting the first. `nodes` is clamped to
    /// 1..=[`MAX_DRAWN_NODES`].
    pub fn with(&mut self, nodes: u32) -> Result<&Topology, Failure> {
        let nodes = nodes.clamp(1, MAX_DRAWN_NODES);
        if !self.known.contains_key(&nodes) {
            let text = self.changed(|topology| {
                topology.insert("nodes".to_owned(), Value::Integer(nodes.into()));
                // Fewer nodes are on as many leaves at most.
                if let Some(Value::Integer(leaves)) = topology.get_mut("leaves") {
                    *leaves = (*leaves).min(nodes.into());
                }
                Ok(())
            })?;
            let drawn = parse(&text, &self.name).map_err(|error| {
                Failure::usage(format!("cannot change {} to {nodes} nodes: {error}", self.name))
                    .hint("use a topology whose size is the key `nodes` of [topology]; files that name single nodes cannot be changed")
            })?;
            self.known.insert(nodes, drawn.topology);
        }
        Ok(&self.known[&nodes])
    }

    /// Returns a topology of which `nodes` nodes, not counting the first, can work: that with so
    /// many nodes, or else the one of the file if it has as many.
    pub fn holding(&mut self, nodes: u32) -> Result<Topology, Failure> {
        self.with(nodes).cloned().or_else(|failure| {
            let written = self.as_written().ok();
            written.filter(|own| own.nodes.len() > nodes as usize).ok_or(failure)
        })
    }

    /// Returns the topology with the number of nodes that the file specifies.
    pub fn as_written(&self) -> Result<Topology, Failure> {
        Ok(parse(&self.text, &self.name)?.topology)
    }

    fn changed(
        &self,
        change: impl FnOnce(&mut Table) -> Result<(), Failure>,
    ) -> Result<String, Failure> {
        let wrong = || Failure::usage(format!("{} has no [topology] of its own", self.name));
        // Leave errors to the parser of topologies, which has better messages.
        let mut document: Table = match self.text.parse() {
            Ok(document) => document,
            Err(_) => {
                return Err(parse(&self.text, &self.name).map_or_else(Failure::usage, |_| wrong()));
            }
        };
        let section = document.get_mut("topology").and_then(Value::as_table_mut);
        change(section.ok_or_else(wrong)?)?;
        toml::to_string(&document).or_nothing("cannot write the topology")
    }
}

/// Changes a shape to one with `nics` NICs for each node.
fn with_nics(topology: &mut Table, nics: u16) -> Result<(), Failure> {
    let shape = topology.get("shape").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut set = |key: &str, value: Value| topology.insert(key.to_owned(), value);
    match shape.as_str() {
        "switch" | "rail" => {
            set("shape", Value::String("rail".to_owned()));
            set("rails", Value::Integer(nics.into()));
        }
        "hub" | "bonded" => {
            set("shape", Value::String("bonded".to_owned()));
            set("nets", Value::Integer(nics.into()));
            if shape == "hub" {
                set("segments", Value::String("hub".to_owned()));
            }
        }
        other => {
            return Err(Failure::usage(format!(
                "--nics has no effect on the shape {other}, which determines the number of NICs"
            ))
            .hint("--nics works with hub, switch, rail and bonded"));
        }
    }
    Ok(())
}
