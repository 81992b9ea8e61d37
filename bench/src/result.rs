//! The results of `bench chain`, for the table and the JSON file.

use serde::Serialize;

use super::kept::Head;
use super::options::Options;
use super::peer::Extra;
use super::peers::{Floor, Relay};
use super::profile::Cost;
use super::spread::Spread;

/// The JSON file.
#[derive(Serialize)]
pub(crate) struct Report {
    /// The head, `garland.bench-chain/1`.
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The options.
    pub(crate) options: Options,
    /// The tools.
    pub(crate) tools: Vec<Tool>,
    /// The limits, measured between the head and the first node.
    pub(crate) links: Vec<Link>,
    /// A row for each tool with each rate, size and number of receivers.
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// Returns the seconds of a tool's transfer as a multiple of the fastest relay's beside it,
    /// both as medians. `None` for relays, and if there is no relay.
    pub(crate) fn of_relay(&self, row: &Row) -> Option<f64> {
        let is_relay = |row: &Row| row.peer.starts_with(Relay::NAME);
        let transfer = |row: &Row| Some(row.spread(|sample| sample.transfer)?.median);
        let relays = self.rows.iter().filter(|relay| is_relay(relay) && relay.is_beside(row));
        let fastest = relays.filter_map(transfer).min_by(f64::total_cmp)?;
        Some(transfer(row).filter(|_| !is_relay(row))? / fastest)
    }

    /// Returns what `of` a row is as a multiple of the least of the floors beside it that are
    /// encrypted if the row's tool is. `None` for other tools than Garland, and if there is no
    /// floor.
    pub(crate) fn of_floor(&self, row: &Row, of: impl Fn(&Row) -> Option<f64>) -> Option<f64> {
        let is_clear = |row: &Row| row.peer.ends_with("-clear");
        let is_floor =
            |other: &&Row| other.peer.starts_with(Floor::NAME) && is_clear(other) == is_clear(row);
        let floors = self.rows.iter().filter(is_floor).filter(|floor| floor.is_beside(row));
        let least = floors.filter_map(&of).min_by(f64::total_cmp)?;
        Some(of(row).filter(|_| row.peer.starts_with("garland"))? / least)
    }
}

/// A tool in the table.
#[derive(Serialize)]
pub(crate) struct Tool {
    /// The tool's name, as in the rows.
    pub(crate) name: &'static str,
    /// What the tool is and how it was used.
    pub(crate) about: &'static str,
    /// The tool's version.
    pub(crate) version: String,
}

/// The goodput of one link of a cluster.
#[derive(Serialize)]
pub(crate) struct Link {
    /// The shaped rate in bit/s; none if unshaped.
    pub(crate) rate: Option<u64>,
    /// Number of receivers in the cluster.
    pub(crate) receivers: usize,
    /// Number of processors that everything shares; none if all.
    pub(crate) cores: Option<usize>,
    /// Payload in bytes per second.
    pub(crate) goodput: f64,
}

/// One run of one tool.
#[derive(Clone, Serialize)]
pub(crate) struct Sample {
    /// Seconds of starting the tool on the nodes.
    pub(crate) start: f64,
    /// Seconds from then to the end.
    pub(crate) transfer: f64,
    /// CPU seconds of the head.
    pub(crate) cpu_head: f64,
    /// CPU seconds of all receivers together.
    pub(crate) cpu_receivers: f64,
    /// CPU seconds of the nodes that forward data, or of all receivers if none does.
    pub(crate) cpu_relays: f64,
    /// CPU seconds of the last receiver.
    pub(crate) cpu_tail: f64,
    /// KiB of memory that were returned to the host during the run.
    pub(crate) given_back_kib: Option<u64>,
    /// The tool's own figures.
    #[serde(flatten)]
    pub(crate) extra: Extra,
}

/// The runs of one tool with one rate, size and number of receivers.
#[derive(Serialize)]
pub(crate) struct Row {
    /// The links' rate in bit/s.
    pub(crate) rate: Option<u64>,
    /// The file's length in bytes.
    pub(crate) bytes: u64,
    /// Number of receiving nodes.
    pub(crate) receivers: usize,
    /// Number of nodes that forward data.
    pub(crate) repeaters: usize,
    /// Number of processors that everything shares; none if all.
    pub(crate) cores: Option<usize>,
    /// The tool's name.
    pub(crate) peer: &'static str,
    /// The lower limit of the time: the file's length divided by the link's goodput, in seconds.
    pub(crate) limit: f64,
    /// The time in seconds that wires and processors allow, by Garland's model of them; `None` for
    /// other tools.
    pub(crate) possible: Option<f64>,
    /// The successful runs; all of their copies were equal to the source.
    pub(crate) samples: Vec<Sample>,
    /// Where the time of the processors goes; empty if it was not asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) profile: Vec<Cost>,
    /// The error that ended the runs, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}

impl Row {
    /// Returns the spread of a figure over all runs.
    pub(crate) fn spread(&self, of: impl Fn(&Sample) -> f64) -> Option<Spread> {
        Spread::from_values(self.samples.iter().map(of).collect())
    }

    /// Returns seconds of the whole command.
    pub(crate) fn whole(&self) -> Option<Spread> {
        self.spread(|sample| sample.start + sample.transfer)
    }

    /// Returns whether another row is of the same file, wires, nodes and processors.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let place = |row: &Self| (row.rate, row.bytes, row.receivers, row.cores);
        place(self) == place(other)
    }

    /// Returns the median of the seconds of a transfer.
    pub(crate) fn transfer(&self) -> Option<f64> {
        Some(self.spread(|sample| sample.transfer)?.median)
    }

    /// Returns the median of the CPU seconds of all nodes and the head together.
    pub(crate) fn cpu(&self) -> Option<f64> {
        Some(self.spread(|sample| sample.cpu_head + sample.cpu_receivers)?.median)
    }

    /// Returns the number of nodes whose CPU seconds are in `cpu_relays`.
    pub(crate) fn relays(&self) -> usize {
        if self.repeaters == 0 { self.receivers } else { self.repeaters }
    }

    /// Returns the CPU seconds per GiB of one relay, or of one receiver if there is no relay.
    pub(crate) fn cpu_per_gib(&self) -> Option<Spread> {
        let relays = self.relays();
        let gib = self.bytes as f64 / (1_u64 << 30) as f64;
        self.spread(|sample| sample.cpu_relays / relays as f64 / gib)
    }
}
