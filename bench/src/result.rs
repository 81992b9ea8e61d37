//! What was measured, as values that go to the table and to the JSON file.

use serde::Serialize;

use super::machine::Machine;
use super::options::Options;
use super::peer::Extra;

/// Everything one benchmark found.
#[derive(Serialize)]
pub(crate) struct Report {
    /// `garland.bench-chain/1`.
    pub(crate) schema: &'static str,
    /// In UTC.
    pub(crate) date: String,
    /// As typed.
    pub(crate) command: String,
    /// What all of it ran on.
    pub(crate) machine: Machine,
    /// What was asked for.
    pub(crate) options: Options,
    /// Each tool: name, what it is and how it was used, version.
    pub(crate) tools: Vec<Tool>,
    /// The limits measured between head and first node.
    pub(crate) links: Vec<Link>,
    /// One for every tool in every place.
    pub(crate) rows: Vec<Row>,
}

/// A tool in the table.
#[derive(Serialize)]
pub(crate) struct Tool {
    /// As in the rows.
    pub(crate) name: &'static str,
    /// How it was used.
    pub(crate) about: &'static str,
    /// What it says of itself.
    pub(crate) version: String,
}

/// The goodput of one link of a cluster.
#[derive(Serialize)]
pub(crate) struct Link {
    /// Shaped to, in bit/s.
    pub(crate) rate: Option<u64>,
    /// In a cluster of this many receivers.
    pub(crate) receivers: usize,
    /// Payload in bytes/s.
    pub(crate) goodput: f64,
}

/// Median, least and most of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// The middle one; of two, their mean.
    pub(crate) median: f64,
    /// The least.
    pub(crate) min: f64,
    /// The most.
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of `values`; nothing of nothing.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let n = values.len();
        let median = f64::midpoint(values[(n - 1) / 2], values[n / 2]);
        Some(Self { median, min, max })
    }
}

/// One run of one tool.
#[derive(Clone, Serialize)]
pub(crate) struct Sample {
    /// Starting it on the nodes, in seconds.
    pub(crate) start: f64,
    /// From then to the end, in seconds.
    pub(crate) transfer: f64,
    /// CPU seconds of the head.
    pub(crate) cpu_head: f64,
    /// CPU seconds of all receivers together.
    pub(crate) cpu_receivers: f64,
    /// CPU seconds of the nodes that pass data on, or of all receivers where none does.
    pub(crate) cpu_relays: f64,
    /// Memory given back to the host meanwhile, in KiB.
    pub(crate) given_back_kib: Option<u64>,
    /// What the tool says.
    #[serde(flatten)]
    pub(crate) extra: Extra,
}

/// One tool in one place.
#[derive(Serialize)]
pub(crate) struct Row {
    /// The links' rate, in bit/s.
    pub(crate) rate: Option<u64>,
    /// The file's length.
    pub(crate) bytes: u64,
    /// Receiving nodes.
    pub(crate) receivers: usize,
    /// Nodes that pass data on.
    pub(crate) repeaters: usize,
    /// The tool.
    pub(crate) peer: &'static str,
    /// Bytes divided by the link's goodput, in seconds.
    pub(crate) limit: f64,
    /// Every run whose copies were all equal to the source.
    pub(crate) samples: Vec<Sample>,
    /// Why there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}

impl Row {
    /// The spread of something over all runs.
    pub(crate) fn spread(&self, of: impl Fn(&Sample) -> f64) -> Option<Spread> {
        Spread::of(self.samples.iter().map(of).collect())
    }

    /// The whole command, in seconds.
    pub(crate) fn whole(&self) -> Option<Spread> {
        self.spread(|sample| sample.start + sample.transfer)
    }

    /// How many nodes the CPU seconds of relays are of.
    pub(crate) fn relays(&self) -> usize {
        if self.repeaters == 0 { self.receivers } else { self.repeaters }
    }

    /// CPU seconds of one relay for one GiB (of one receiver where no one relays).
    pub(crate) fn cpu_per_gib(&self) -> Option<Spread> {
        let relays = self.relays();
        let gib = self.bytes as f64 / (1_u64 << 30) as f64;
        self.spread(|sample| sample.cpu_relays / relays as f64 / gib)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_of_the_middle() {
        assert_eq!(Spread::of(vec![]), None);
        let spread = Spread::of(vec![3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (2.5, 1.0, 10.0));
    }
}
