//! Traces for the tests of formats, and tests that are common to all formats.

use garland_core::trace::{
    Direction, Disk, Exchange, Lost, NO_BLOCK, Origin, Probe, Role, Socket, Stage, Thread,
};

use super::*;

/// Nanoseconds by which the node's clock is ahead of the head's.
const AHEAD_NS: u64 = 1_000_000_000;

/// Returns a span of lane 0 and thread 1, which starts a microsecond later for each block number.
pub(crate) fn span(stage: Stage, peer: u16, block: u32) -> Span {
    let begin_ns = 1000 * u64::from(block.min(1000)) + 1000;
    Span {
        stage,
        lane: 0,
        peer,
        thread: 1,
        begin_ns,
        end_ns: begin_ns + 500,
        busy_ns: 400,
        bytes: 100,
        block,
        count: 1,
        operation: 0,
    }
}

fn origin(node: &str, index: u16, role: Role) -> Origin {
    Origin {
        node: node.to_owned(),
        index,
        role,
        processors: 2,
        started_ns: 0,
        wall_ns: 0,
        copy: [0; 16],
        emulated: false,
    }
}

/// Returns the traces of a head that sends three blocks to one node. The node's name needs
/// escaping, and its clock is ahead.
pub(crate) fn example_traces() -> Vec<Trace> {
    let mut head = vec![Record::Span(span(Stage::Read, NONE, 0))];
    head.extend((0..3).map(|block| Record::Span(span(Stage::Send, 1, block))));
    head.push(Record::Span(Span { lane: NONE, ..span(Stage::Control, 1, 0) }));
    head.push(Record::Socket(Socket {
        lane: 0,
        peer: 1,
        direction: Direction::Down,
        at_ns: 2000,
        bytes: 300,
        busy_us: 4,
        rwnd_limited_us: 3,
        sndbuf_limited_us: 2,
        retransmitted: 1,
        rtt_us: 20,
        cwnd: 10,
        delivery_kb_s: 117_000,
    }));
    head.push(Record::Probe(Probe {
        peer: 1,
        sent_ns: 1000,
        received_ns: AHEAD_NS + 1010,
        answered_ns: AHEAD_NS + 1015,
        back_ns: 1030,
    }));
    let later = |span: Span| Span {
        begin_ns: span.begin_ns + AHEAD_NS + 100,
        end_ns: span.end_ns + AHEAD_NS + 100,
        ..span
    };
    let mut node: Vec<Record> =
        (0..3).map(|block| Record::Span(later(span(Stage::Receive, 0, block)))).collect();
    // The node wrote and received in turn.
    node.push(Record::Span(later(Span { count: 2, ..span(Stage::Write, NONE, 0) })));
    node.push(Record::Span(later(span(Stage::WaitUpstream, NONE, NO_BLOCK))));
    node.push(Record::Thread(Thread {
        thread: 1,
        what: Stage::Receive,
        at_ns: AHEAD_NS + 2000,
        running_ns: 700,
        waiting_ns: 50,
    }));
    node.push(Record::Disk(Disk {
        at_ns: AHEAD_NS + 2000,
        in_flight: 1,
        read_bytes: 0,
        written_bytes: 4096,
        reads: 0,
        writes: 1,
        read_ms: 0,
        write_ms: 2,
        flushes: 1,
        flush_ms: 3,
        busy_ms: 4,
        queue_ms: 5,
    }));
    node.push(Record::Lost(Lost {
        stage: Stage::Write,
        lane: 0,
        peer: NONE,
        count: 5,
        busy_ns: 9000,
        bytes: 12_345,
    }));
    vec![
        Trace { origin: origin("head", 0, Role::Head), records: head },
        Trace { origin: origin("n\"1\",", 1, Role::Agent), records: node },
    ]
}

/// Exports these traces, whose clocks are ahead as in [`traces`]. Returns the bytes and the sums.
pub(crate) fn exported(kind: Kind, traces: &[Trace]) -> (Vec<u8>, Totals) {
    let mut bytes = Vec::new();
    let names = traces.iter().map(|trace| (trace.origin.index, trace.origin.node.clone()));
    let mut export = Export::begin(kind, &mut bytes, names.collect()).unwrap();
    for trace in traces {
        let ahead_ns = if trace.origin.index == 0 { 0 } else { AHEAD_NS };
        let on_head = |at_ns: u64| Moment { at_ns: at_ns - ahead_ns, error_ns: Some(7) };
        export.node(trace, vec!["a label".to_owned()], &on_head).unwrap();
    }
    export.path(&[step(0, 1000, "set-up", None), step(1000, 9000, "wire", Some("head"))]).unwrap();
    let totals = export.finish().unwrap();
    (bytes, totals)
}

fn step(begin_ns: u64, end_ns: u64, cause: &'static str, node: Option<&str>) -> Step {
    let node = node.map(str::to_owned);
    let to = node.as_ref().map(|_| "n1".to_owned());
    Step { begin_ns, end_ns, cause, node, to, within: None }
}

#[test]
fn totals_are_sums_over_recorded_and_lost_spans() {
    let (_, totals) = exported(Kind::Csv, &example_traces());
    let of = |wanted: Stage| {
        totals.stages().find(|(stage, _)| *stage == wanted).map(|(_, total)| total).unwrap()
    };
    let sent = of(Stage::Send);
    assert_eq!((sent.spans, sent.blocks, sent.busy_ns, sent.bytes), (3, 3, 1200, 300));
    let written = of(Stage::Write);
    assert_eq!((written.spans, written.blocks), (1, 7));
    assert_eq!((written.busy_ns, written.bytes), (9400, 12_445));
    assert_eq!(of(Stage::Control).blocks, 1);
    assert_eq!(Exchange::of_number(0), Some(Exchange::Begin), "what the control span is about");
}

#[test]
fn write_errors_are_reported() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for kind in [Kind::Chrome, Kind::Csv] {
        assert!(Export::begin(kind, &mut Full, BTreeMap::new()).is_err(), "{kind:?}");
    }
}

#[test]
fn a_node_without_a_trace_is_named_by_its_index() {
    let names = BTreeMap::from([(0, "n0".to_owned())]);
    assert_eq!(name(&names, 0).as_deref(), Some("n0"));
    assert_eq!(name(&names, 5).as_deref(), Some("node 5"));
    assert_eq!(name(&names, NONE), None);
}
