//! A topology as it would be with other nodes, rates and NICs.

use std::collections::HashMap;

use garland_core::units::Rate;
use garland_topology::Topology;
use garland_topology::file::parse;
use toml::{Table, Value};

use crate::topology;
use garland_terminal::failure::{Failure, OrFailure};

/// The most nodes beside the first that can be drawn.
pub const MOST: u32 = 1000;

/// The text of a topology, which can be drawn again.
pub struct Drawn {
    name: String,
    text: String,
    /// Those that were drawn, by their nodes beside the first.
    known: HashMap<u32, Topology>,
}

/// Shapes that need nothing but nodes and a rate.
const PLAIN: [&str; 6] = ["hub", "switch", "star", "ring", "full-mesh", "rail"];

impl Drawn {
    /// The topology that a user names, with another rate or number of NICs if these are asked for.
    pub fn load(name: &str, rate: Option<&str>, nics: Option<u16>) -> Result<Self, Failure> {
        let text = match topology::text(name).filter(|_| !topology::is_file(name)) {
            Some(text) => text.to_owned(),
            None if PLAIN.contains(&name) => {
                format!("version = 1\n[topology]\nshape = \"{name}\"\nnodes = 1\n")
            }
            None => std::fs::read_to_string(name).map_err(|error| {
                Failure::usage(format!("reading the topology {name}: {error}"))
                    .hint(format!("name a file, a scenario, or a shape: {}", PLAIN.join(", ")))
            })?,
        };
        let mut drawn = Self { name: name.to_owned(), text, known: HashMap::new() };
        if let Some(rate) = rate {
            let _: Rate = rate.parse().map_err(Failure::usage)?;
            drawn.change(|topology| {
                topology.insert("rate".to_owned(), Value::String(rate.to_owned()));
                Ok(())
            })?;
        }
        if let Some(nics) = nics.filter(|nics| *nics > 1) {
            drawn.change(|topology| with_nics(topology, nics))?;
        }
        Ok(drawn)
    }

    /// With so many nodes beside the first.
    pub fn with(&mut self, nodes: u32) -> Result<&Topology, Failure> {
        let nodes = nodes.clamp(1, MOST);
        if !self.known.contains_key(&nodes) {
            let text = self.changed(|topology| {
                topology.insert("nodes".to_owned(), Value::Integer(nodes.into()));
                Ok(())
            })?;
            let drawn = parse(&text, &self.name).map_err(|error| {
                Failure::usage(format!("{} can't be drawn with {nodes} nodes: {error}", self.name))
                    .hint("node counts are varied by the key nodes of [topology]; what names single nodes can't be")
            })?;
            self.known.insert(nodes, drawn.topology);
        }
        Ok(&self.known[&nodes])
    }

    /// As it is written.
    pub fn as_written(&self) -> Result<Topology, Failure> {
        Ok(parse(&self.text, &self.name).map_err(Failure::usage)?.topology)
    }

    fn change(
        &mut self,
        change: impl FnOnce(&mut Table) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.text = self.changed(change)?;
        Ok(())
    }

    fn changed(
        &self,
        change: impl FnOnce(&mut Table) -> Result<(), Failure>,
    ) -> Result<String, Failure> {
        let wrong = || Failure::usage(format!("{} has no [topology] of its own", self.name));
        // What is wrong with a file is said best by who reads it.
        let mut document: Table = match self.text.parse() {
            Ok(document) => document,
            Err(_) => {
                return Err(parse(&self.text, &self.name).map_or_else(Failure::usage, |_| wrong()));
            }
        };
        let section = document.get_mut("topology").and_then(Value::as_table_mut);
        change(section.ok_or_else(wrong)?)?;
        toml::to_string(&document).or_nothing("writing the topology")
    }
}

/// The shape with more NICs a node.
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
            return Err(Failure::usage(format!("a {other} has its NICs by its shape"))
                .hint("--nics is for hub, switch, rail and bonded"));
        }
    }
    Ok(())
}
