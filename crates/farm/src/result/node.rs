//! A node of a farm's run, as the account takes it.

use super::traffic::NicTraffic;
use garland_results::head::NodeEnd;

/// A node that jobs ran on.
#[derive(Clone, Debug)]
pub struct NodeAccount {
    /// Its name, as the records have it.
    pub name: String,
    /// How many jobs it runs at a time.
    pub slots: u32,
    /// The share of a processor that each of these can have.
    pub share: f64,
    /// Its clock in MHz, where it tells.
    pub mhz: Option<f64>,
    /// Its memory in bytes, where it tells.
    pub memory: Option<u64>,
    /// How it ended.
    pub end: NodeEnd,
    /// What its NICs carried meanwhile.
    pub nics: Vec<NicTraffic>,
}

impl NodeAccount {
    /// A node with so many processors of its own, of which nothing else is known.
    pub fn new(name: &str, slots: u32) -> Self {
        let (name, end) = (name.to_owned(), NodeEnd::new("ok", None));
        Self { name, slots, share: 1.0, mhz: None, memory: None, end, nics: Vec::new() }
    }

    /// How quick its processors are, by their clock.
    pub fn speed(&self) -> f64 {
        self.mhz.filter(|mhz| *mhz > 0.0).unwrap_or(1.0)
    }
}
