//! Collects the traces of the nodes on the head.

use garland_core::plan::NodeId;
use garland_core::trace::{NONE, Parcel, Trace};
use garland_protocol::copy::{CopyId, TRACE_MAX};

/// The maximum number of records of one node: its budget, and the summaries of lost spans.
const MAX_RECORDS: usize = TRACE_MAX as usize + 1024;

/// The parts of the nodes' traces that have arrived, by the index of the node in the plan.
#[derive(Debug)]
pub struct Harvest(Vec<Slot>);

#[derive(Clone, Debug, Default)]
struct Slot {
    trace: Option<Trace>,
    /// Whether the trace is complete, or cannot be completed since a parcel was invalid.
    over: bool,
}

impl Harvest {
    /// Returns an instance for `nodes` nodes, the head included, without traces.
    pub fn new(nodes: usize) -> Self {
        Self(vec![Slot::default(); nodes])
    }

    /// Adds an empty trace for a node that was added at the end of the plan.
    pub fn grow(&mut self) {
        self.0.push(Slot::default());
    }

    /// Adds a parcel of the trace of node `id`; `more` tells whether further ones follow. An
    /// invalid parcel ends the trace.
    pub fn take(&mut self, id: NodeId, parcel: &[u8], more: bool) {
        let Some(slot) = self.0.get_mut(id.index()).filter(|slot| !slot.over) else { return };
        slot.over = !more;
        let Some(parcel) = Parcel::open(parcel) else {
            // An invalid parcel ends the trace; the copy is over and not affected.
            slot.over = true;
            return;
        };
        let origin = parcel.origin;
        let trace = slot.trace.get_or_insert_with(|| Trace { origin, records: Vec::new() });
        let room = MAX_RECORDS.saturating_sub(trace.records.len());
        trace.records.extend(parcel.records.into_iter().take(room));
    }

    /// Returns whether parcels of this node's trace are still expected.
    pub fn is_awaiting(&self, id: NodeId) -> bool {
        self.0.get(id.index()).is_some_and(|slot| !slot.over)
    }

    /// Returns the traces that have arrived, complete or not, as those of `copy`. Each contains the
    /// index of its node.
    pub fn into_traces(self, copy: CopyId) -> impl Iterator<Item = Trace> {
        let traces = (0..).zip(self.0).filter_map(|(place, slot)| Some((place, slot.trace?)));
        traces.map(move |(place, mut trace)| {
            trace.origin.index = u16::try_from(place).unwrap_or(NONE);
            trace.origin.copy = copy.0;
            trace.put_in_order();
            trace
        })
    }
}

#[cfg(test)]
mod tests {
    use garland_core::trace::{Lost, Origin, Record, Role, Stage, parcels};

    use super::*;

    fn trace() -> Trace {
        let origin = Origin {
            node: "another name".to_owned(),
            index: 9,
            role: Role::Agent,
            processors: 1,
            started_ns: 5,
            wall_ns: 6,
            copy: [1; 16],
            emulated: false,
        };
        let lost = Lost { stage: Stage::Read, lane: 0, peer: 0, count: 1, busy_ns: 1, bytes: 1 };
        Trace { origin, records: vec![Record::Lost(lost); 40] }
    }

    #[test]
    fn parcels_become_a_trace_and_nonsense_ends_it() {
        let mut harvest = Harvest::new(4);
        let sent = parcels(&trace().origin, &trace().records, 100);
        assert!(sent.len() > 2);
        for (at, parcel) in sent.iter().enumerate() {
            harvest.take(NodeId(2), parcel, at + 1 < sent.len());
        }
        harvest.take(NodeId(3), &sent[0], true);
        harvest.take(NodeId(3), b"nonsense", true);
        harvest.take(NodeId(8), &sent[0], false);
        assert!(harvest.is_awaiting(NodeId(1)));
        assert!(!harvest.is_awaiting(NodeId(2)) && !harvest.is_awaiting(NodeId(3)));
        let traces: Vec<Trace> = harvest.into_traces(CopyId([7; 16])).collect();
        assert_eq!(traces.len(), 2);
        assert_eq!(traces[0].records, trace().records);
        assert_eq!((traces[0].origin.index, traces[0].origin.copy), (2, [7; 16]));
        assert!(traces[1].records.len() < 40 && traces[1].origin.index == 3);
    }
}
