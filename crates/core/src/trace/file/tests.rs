use proptest::prelude::*;

use super::*;
use crate::trace::{
    Direction, Disk, Lost, NO_BLOCK, NONE, Parcel, Probe, Socket, Span, Stage, Thread, parcels,
};

fn origin() -> Origin {
    Origin {
        node: "lab:n1".to_owned(),
        index: 1,
        role: Role::Agent,
        processors: 2,
        started_ns: 5_000_000_000,
        wall_ns: 1_790_000_000_000_000_000,
        copy: [7; 16],
        emulated: true,
    }
}

fn any_stage() -> impl Strategy<Value = Stage> {
    (0..18_u8).prop_map(|number| Stage::of_number(number).expect("there are 18"))
}

fn any_span() -> impl Strategy<Value = Record> {
    let whose = (any_stage(), any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>());
    let when = (0..1_u64 << 62, 0..1_u64 << 40, any::<u64>());
    let what = (any::<u64>(), any::<u32>(), 1..=u32::MAX);
    (whose, when, what).prop_map(|(whose, (begin_ns, took, busy_ns), (bytes, block, count))| {
        let (stage, lane, peer, thread, operation) = whose;
        let end_ns = begin_ns + took;
        Record::Span(Span {
            stage,
            lane,
            peer,
            thread,
            begin_ns,
            end_ns,
            busy_ns,
            bytes,
            block,
            count,
            operation,
        })
    })
}

fn any_sample() -> impl Strategy<Value = Record> {
    let socket = (any::<[u64; 5]>(), any::<[u32; 4]>(), any::<(u16, u16, bool)>());
    let socket = socket.prop_map(|(long, short, (lane, peer, up))| {
        Record::Socket(Socket {
            lane,
            peer,
            direction: if up { Direction::Up } else { Direction::Down },
            at_ns: long[0],
            bytes: long[1],
            busy_us: long[2],
            rwnd_limited_us: long[3],
            sndbuf_limited_us: long[4],
            retransmitted: short[0],
            rtt_us: short[1],
            cwnd: short[2],
            delivery_kb_s: short[3],
        })
    });
    let thread = (any_stage(), any::<u16>(), any::<[u64; 3]>());
    let thread = thread.prop_map(|(what, thread, [at_ns, running_ns, waiting_ns])| {
        Record::Thread(Thread { thread, what, at_ns, running_ns, waiting_ns })
    });
    let disk = (any::<[u64; 3]>(), any::<[u32; 9]>()).prop_map(|(long, short)| {
        Record::Disk(Disk {
            at_ns: long[0],
            read_bytes: long[1],
            written_bytes: long[2],
            in_flight: short[0],
            reads: short[1],
            writes: short[2],
            read_ms: short[3],
            write_ms: short[4],
            flushes: short[5],
            flush_ms: short[6],
            busy_ms: short[7],
            queue_ms: short[8],
        })
    });
    let probe = (any::<u16>(), any::<[u32; 4]>()).prop_map(|(peer, [sent, trip, came, took])| {
        let sent_ns = u64::from(sent);
        let received_ns = u64::from(came);
        let back_ns = sent_ns + u64::from(trip);
        let answered_ns = received_ns + u64::from(took);
        Record::Probe(Probe { peer, sent_ns, received_ns, answered_ns, back_ns })
    });
    let lost = (any_stage(), any::<[u16; 2]>(), any::<[u64; 3]>());
    let lost = lost.prop_map(|(stage, [lane, peer], [count, busy_ns, bytes])| {
        Record::Lost(Lost { stage, lane, peer, count, busy_ns, bytes })
    });
    prop_oneof![socket, thread, disk, probe, lost]
}

fn any_trace() -> impl Strategy<Value = Trace> {
    let records = proptest::collection::vec(prop_oneof![any_span(), any_sample()], 0..40);
    records.prop_map(|records| Trace { origin: origin(), records })
}

#[test]
fn the_bytes_are_those_of_the_documented_format() {
    let span = Span {
        stage: Stage::Write,
        lane: 0x0102,
        peer: NONE,
        thread: 3,
        begin_ns: 0x1112_1314_1516_1718,
        end_ns: 0x1112_1314_1516_1719,
        busy_ns: 1,
        bytes: 0x10_0000,
        block: NO_BLOCK,
        count: 1,
        operation: 9,
    };
    let trace = Trace { origin: origin(), records: vec![Record::Span(span)] };
    let bytes = trace.encode();
    assert_eq!(&bytes[..8], b"GARTRACE");
    assert_eq!(bytes[8..12], 1_u32.to_le_bytes());
    let start = 16 + usize::from(bytes[12]);
    let record = &bytes[start..start + 64];
    assert_eq!(record[..8], [1, 8, 2, 1, 0xff, 0xff, 3, 0]);
    assert_eq!(record[8..16], [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11]);
    assert_eq!(record[32..52], {
        [0, 0, 0x10, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 9, 0, 0, 0]
    });
    assert_eq!(bytes[start + 64], 0xff);
    assert_eq!(bytes.len(), start + 128);
}

#[test]
fn every_name_is_a_file_of_its_own() {
    let named = |index, node: &str| Origin { index, node: node.to_owned(), ..origin() }.file_name();
    assert_eq!(named(0, "head"), "head.trace");
    assert_eq!(named(1, "head"), "%68ead.trace");
    assert_eq!(named(1, "lab:n1"), "lab:n1.trace");
    assert_eq!(named(1, "../a b%"), "%2e.%2fa%20b%25.trace");
}

#[test]
fn strangers_and_other_versions_are_told_apart() {
    assert_eq!(Trace::decode(b"GAR"), Err(TraceError::Empty));
    assert_eq!(Trace::decode(b"%PDF-1.7 and more"), Err(TraceError::NotTrace));
    let mut bytes = Trace { origin: origin(), records: Vec::new() }.encode();
    bytes[8] = 2;
    let error = Trace::decode(&bytes).unwrap_err();
    assert!(
        error.to_string().contains("the trace has version 2, this garland reads version 1"),
        "{error}"
    );
    (bytes[8], bytes[16]) = (1, 0xff);
    assert_eq!(Trace::decode(&bytes), Err(TraceError::Origin));
}

#[test]
fn a_tail_of_zeros_is_a_cut() {
    let lost = Lost { stage: Stage::Open, lane: 0, peer: NONE, count: 1, busy_ns: 2, bytes: 3 };
    let trace = Trace { origin: origin(), records: vec![Record::Lost(lost)] };
    let mut bytes = trace.encode();
    let end = bytes.len() - RECORD_LEN;
    bytes[end..].fill(0);
    let (read, cut) = Trace::decode(&bytes).unwrap();
    assert_eq!((read, cut), (trace, Some(Cut { at: end, unread: RECORD_LEN })));
}

proptest! {
    #[test]
    fn a_trace_survives_its_file(trace in any_trace()) {
        prop_assert_eq!(Trace::decode(&trace.encode()), Ok((trace, None)));
    }

    #[test]
    fn a_cut_file_is_read_up_to_the_cut(trace in any_trace(), place: prop::sample::Index) {
        let bytes = trace.encode();
        let place = place.index(bytes.len());
        match Trace::decode(&bytes[..place]) {
            Ok((read, cut)) => {
                let cut = cut.expect("its end is gone");
                prop_assert!(trace.records.starts_with(&read.records));
                prop_assert!(cut.at + cut.unread == place && cut.unread < RECORD_LEN);
            }
            Err(error) => prop_assert_eq!(error, TraceError::Empty),
        }
    }

    #[test]
    fn any_bytes_are_a_trace_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400), ours: bool) {
        let mut bytes = bytes;
        if ours {
            let head = Trace { origin: origin(), records: Vec::new() }.encode();
            bytes.splice(0..0, head[..head.len() - RECORD_LEN].iter().copied());
        }
        if let Ok((trace, None)) = Trace::decode(&bytes) {
            prop_assert_eq!(Trace::decode(&trace.encode()), Ok((trace, None)));
        }
    }

    #[test]
    fn a_trace_survives_its_parcels(trace in any_trace()) {
        let mut records = Vec::new();
        for bytes in parcels(&trace.origin, &trace.records, 2000) {
            prop_assert!(bytes.len() <= 2000);
            let parcel = Parcel::open(&bytes).expect("it was packed");
            prop_assert_eq!(&parcel.origin, &trace.origin);
            records.extend(parcel.records);
        }
        prop_assert_eq!(records, trace.records);
    }

    #[test]
    fn any_bytes_are_a_parcel_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Some(parcel) = Parcel::open(&bytes) {
            prop_assert!(parcel.records.iter().all(Record::is_sound));
        }
    }
}
