//! In all cases rows sum to the whole, and nearly all of it has a cause.

use garland_core::trace::{Origin, Record, Role, Span, Stage, Trace};
use proptest::prelude::*;

use super::model::{MS, Model, every, stalling};
use crate::ledger::{Cause, Run, explain};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_pipeline_is_accounted_for(
        costs in proptest::collection::vec(1..30_i64, 8),
        stall in 0..200_i64,
        nth in 3..60_usize,
        (ahead, buffers, blocks) in (1..9_usize, 3..30_usize, 5..120_usize),
        offset in -9_000_000_000_i64..9_000_000_000,
    ) {
        let mut model = Model { blocks, ahead, buffers, ..Model::healthy(3) };
        model.read = every(costs[0] * MS / 2);
        model.seal = every(costs[1] * MS / 4);
        for hop in 0..3 {
            model.wires[hop] = every(costs[2 + hop] * MS);
            model.writes[hop] = every(costs[5 + hop] * MS / 2);
        }
        model.writes[nth % 3] = stalling(MS, nth, stall * MS);
        model.clocks[nth % 3] = offset;
        model.clocks.iter_mut().for_each(|clock| *clock = (*clock).max(-4_000_000_000));
        let ledger = model.run().explain();
        let unknown: u64 = ledger.rows.iter().filter(|row| matches!(row.cause, Cause::Unattributed | Cause::Bubble)).map(|row| row.ns).sum();
        prop_assert!(unknown as f64 <= 0.05 * ledger.wall_ns as f64, "{:#?}", ledger.rows);
        prop_assert!(ledger.path.windows(2).all(|two| two[0].end == two[1].begin));
        prop_assert_eq!(ledger.path.first().map(|s| s.begin), Some(0));
    }

    #[test]
    fn no_file_however_wrong_makes_it_fail(
        spans in proptest::collection::vec((0..18_u8, any::<u16>(), 0..4_u16, 0..3_u16, any::<u64>(), any::<u64>(), any::<u32>()), 0..40),
        phases in proptest::collection::vec(any::<u64>(), 0..6),
    ) {
        let record = |&(stage, lane, peer, thread, begin_ns, length, count): &(u8, u16, u16, u16, u64, u64, u32)| Record::Span(Span {
            stage: Stage::of_number(stage).unwrap(), lane, peer, thread, begin_ns, end_ns: begin_ns.saturating_add(length),
            busy_ns: length / 2, bytes: length, block: 1, count: count.max(1), operation: 0,
        });
        let trace = |index| {
            let origin = Origin { node: String::new(), index, role: Role::Agent, processors: 1, started_ns: 5, wall_ns: 0, copy: [0; 16], emulated: false };
            Some(Trace { origin, records: spans.iter().map(record).collect() })
        };
        let nodes = ["head".to_owned(), "n1".to_owned()];
        let names = ["set-up", "first byte", "stream", "drain", "fsync", "teardown"];
        let phases: Vec<_> = names.iter().zip(phases).map(|(name, ns)| ((*name).to_owned(), ns)).collect();
        let run = Run { nodes: &nodes, traces: &[trace(0), trace(1)], phases: &phases, comparison: &[], agents_started: None, has_failed: false, is_unsent: false, bytes: 1, limit: Some(1.0), hop_limit: None, has_slow_trunk: false, processors: &[], off_disk: false, by_ssh: &[], dead: &[] };
        let ledger = explain(&run, &run.clocks());
        prop_assert_eq!(ledger.rows.iter().map(|row| row.ns).sum::<u64>(), ledger.wall_ns);
    }
}
