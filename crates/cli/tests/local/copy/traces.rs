//! What a copy leaves behind of its course: a trace a node, whose sums are the copy's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use garland_core::trace::{Exchange, Probe, Record, Role, Span, Stage, Trace};
use garland_testkit::{Garland, Scratch, Wire};

use crate::copy::{assert_copied, await_middle, garland_in, locals, source};

/// The only run's folder.
#[track_caller]
fn run(garland: &Garland<'_>) -> PathBuf {
    let [run] = &garland.runs()[..] else { panic!("one run, not {:?}", garland.runs()) };
    run.clone()
}

/// The trace of the node `name` in a run's folder.
#[track_caller]
fn trace(run: &Path, name: &str) -> Trace {
    let path = run.join("trace").join(format!("{name}.trace"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (trace, cut) = Trace::decode(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(cut, None, "{name}");
    assert_eq!(trace.origin.file_name(), format!("{name}.trace"));
    trace
}

fn spans(trace: &Trace, stage: Stage) -> impl Iterator<Item = Span> {
    trace.records.iter().filter_map(move |record| match record {
        Record::Span(span) if span.stage == stage => Some(*span),
        _ => None,
    })
}

fn bytes(trace: &Trace, stage: Stage) -> u64 {
    spans(trace, stage).map(|span| span.bytes).sum()
}

fn count(trace: &Trace, stage: Stage) -> u32 {
    spans(trace, stage).map(|span| span.count).sum()
}

fn busy_ms(trace: &Trace, stage: Stage) -> u64 {
    spans(trace, stage).map(|span| span.busy_ns).sum::<u64>() / 1_000_000
}

fn probes(trace: &Trace, peer: u16) -> Vec<Probe> {
    let probes = trace.records.iter().filter_map(|record| match record {
        Record::Probe(probe) if probe.peer == peer => Some(*probe),
        _ => None,
    });
    probes.collect()
}

/// Every thread with a ring is at one stage at a time: its busy times fit between its first begin
/// and its last end. How long each has nothing to show for, by its number.
#[track_caller]
fn gaps_ms(trace: &Trace) -> BTreeMap<u16, u64> {
    let mut threads: BTreeMap<u16, (u64, u64, u64)> = BTreeMap::new();
    for record in &trace.records {
        let Record::Span(span) = record else { continue };
        let (begin, end, busy) = threads.entry(span.thread).or_insert((u64::MAX, 0, 0));
        (*begin, *end) = (span.begin_ns.min(*begin), span.end_ns.max(*end));
        *busy += span.busy_ns;
    }
    threads.remove(&0);
    let node = &trace.origin.node;
    let gap = |(begin, end, busy): (u64, u64, u64)| {
        assert!(busy <= end - begin, "{node}: busy {busy} ns of {}", end - begin);
        (end - begin - busy) / 1_000_000
    };
    threads.into_iter().map(|(thread, times)| (thread, gap(times))).collect()
}

#[test]
fn every_nodes_sums_are_the_copys() {
    const LENGTH: u64 = 20_000_003;
    let scratch = Scratch::new("trace");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let said = garland.cp(&["--json", "source.bin", "local[1-3]:/x"]).with_code(0);
    assert_copied(&scratch, locals(3), "x", &from);
    let folder = run(&garland);
    let head = trace(&folder, "head");
    assert_eq!((head.origin.index, head.origin.role), (0, Role::Head));
    assert_eq!((bytes(&head, Stage::Read), bytes(&head, Stage::Seal)), (LENGTH, LENGTH));
    assert!(bytes(&head, Stage::Send) > LENGTH, "sealed blocks are longer");
    let blocks = count(&head, Stage::Read);
    let elapsed = said.json()["elapsed_ns"].as_u64().expect("a result has its time");
    for (place, node) in (1..).zip(locals(3)) {
        let own = trace(&folder, &node);
        assert_eq!((own.origin.index, &own.origin.node), (place, &node));
        assert_eq!(own.origin.copy, head.origin.copy);
        assert_eq!((bytes(&own, Stage::Write), bytes(&own, Stage::Open)), (LENGTH, LENGTH));
        assert_eq!((count(&own, Stage::Receive), count(&own, Stage::Write)), (blocks, blocks));
        let onward = if place < 3 { blocks } else { 0 };
        assert_eq!(count(&own, Stage::Relay), onward, "{node}");
        assert!(spans(&own, Stage::Receive).all(|span| span.peer == place - 1), "{node}");
        assert!(spans(&own, Stage::Relay).all(|span| span.peer == place + 1), "{node}");
        assert!(busy_ms(&own, Stage::WaitUpstream) * 1_000_000 <= 3 * elapsed);
        for stage in [Stage::SetUp, Stage::Commit, Stage::Fsync] {
            assert!(count(&own, stage) > 0, "{node} has no {stage}");
        }
        assert!(own.records.iter().any(|record| matches!(record, Record::Thread(_))));
        assert!(own.records.iter().any(|record| matches!(record, Record::Socket(_))));
        let _ = gaps_ms(&own);
        for exchange in [Exchange::Begin, Exchange::Commit, Exchange::Close] {
            let mut answers = spans(&head, Stage::Control).filter(|span| span.peer == place);
            assert!(answers.any(|span| span.block == exchange.number()), "{node}: {exchange:?}");
        }
        let asked = probes(&head, place);
        assert!(asked.len() >= 8, "{node} was asked for the time {} times", asked.len());
    }
    let _ = gaps_ms(&head);
    scratch.assert_nothing_left();
}

#[test]
fn a_trace_of_many_blocks_stays_small_and_its_sums_right() {
    const LENGTH: u64 = 32 << 20;
    let scratch = Scratch::new("trace-bound");
    let _ = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    // A busy machine may look as a slow node, which gets blocks that are sealed for it alone.
    let words = ["--block-size", "4KiB", "--on-slow", "wait", "source.bin", "local[1-2]:/x"];
    let _ = garland.cp(&words).with_code(0);
    let folder = run(&garland);
    for (node, most) in [("head", 20_000), ("local1", 2048), ("local2", 2048)] {
        let own = trace(&folder, node);
        assert!(own.records.len() <= most, "{node}: {} records", own.records.len());
        let work = if node == "head" { Stage::Seal } else { Stage::Write };
        assert_eq!((bytes(&own, work), count(&own, work)), (LENGTH, 8192), "{node}");
        let _ = gaps_ms(&own);
    }
    scratch.assert_nothing_left();
}

#[test]
fn without_a_trace_a_copy_is_the_same() {
    let scratch = Scratch::new("trace-off");
    let from = source(&scratch, 1_000_000);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--no-trace", "source.bin", "local[1-2]:/x"]).with_code(0);
    assert_copied(&scratch, locals(2), "x", &from);
    assert!(!run(&garland).join("trace").exists());
    scratch.assert_nothing_left();
}

#[test]
fn a_trace_that_cannot_be_read_is_named_by_explain() {
    let scratch = Scratch::new("trace-unread");
    let _ = source(&scratch, 1 << 20);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["source.bin", "local[1-2]:/x"]).with_code(0);
    let file = run(&garland).join("trace/local1.trace");
    std::fs::write(&file, "this is no trace at all").expect("it can be written");
    let said = garland.run(&["explain", "last"]).with_code(1);
    let note = format!("cannot read the trace {}: the file is not", file.display());
    assert!(said.out.contains(&note), "{}", said.out);
}

#[test]
fn a_dead_node_has_no_trace_and_the_others_have() {
    let scratch = Scratch::new("trace-dead");
    let from = source(&scratch, 16 << 20);
    let garland = garland_in(&scratch).over(Wire::slow(400));
    let copy = garland.start_cp(&["source.bin", "local[1-3]:/x"]);
    await_middle(&scratch, "local3", &from, 0);
    garland.agent("local2").kill();
    let _ = copy.end().with_code(1);
    let folder = run(&garland);
    assert!(!folder.join("trace/local2.trace").exists());
    let after = trace(&folder, "local3");
    let upstreams: Vec<u16> = spans(&after, Stage::Receive).map(|span| span.peer).collect();
    assert!(upstreams.contains(&2) && upstreams.contains(&1), "{upstreams:?}");
    assert!(count(&trace(&folder, "local1"), Stage::Dial) >= 2, "it dialed its new downstream");
    scratch.assert_nobody_left();
}

#[test]
fn a_wrong_clock_shows_in_the_probes_and_nowhere_else() {
    let scratch = Scratch::new("trace-clock");
    let from = source(&scratch, 1_000_000);
    let garland = garland_in(&scratch);
    let wrong = ["--inject", "clock:local2:49s,100ppm"];
    let _ = garland.cp(&[&wrong[..], &["source.bin", "local[1-2]:/x"]].concat()).with_code(0);
    assert_copied(&scratch, locals(2), "x", &from);
    let folder = run(&garland);
    let head = trace(&folder, "head");
    for (peer, ahead) in [(1, 0), (2, 49_000_000_000_i64)] {
        let best =
            probes(&head, peer).into_iter().min_by_key(|probe| probe.back_ns - probe.sent_ns);
        let best = best.expect("it was asked");
        let signed = |ns: u64| i64::try_from(ns).expect("machines don't run for centuries");
        // What its clock is ahead lies between these for certain.
        let least = signed(best.answered_ns) - signed(best.back_ns);
        let most = signed(best.received_ns) - signed(best.sent_ns);
        // The drift is 5 ms after 50 s.
        let drift = if ahead > 0 { 5_000_000 } else { 0 };
        assert!(least <= ahead + drift && ahead <= most, "{peer}: {least} to {most}");
    }
    let skewed = trace(&folder, "local2");
    assert!(skewed.origin.started_ns > head.origin.started_ns + 48_000_000_000);
    scratch.assert_nothing_left();
}

#[test]
fn stalls_are_noted_where_they_were_put() {
    let scratch = Scratch::new("trace-stalls");
    let _ = source(&scratch, 16 << 20);
    let garland = garland_in(&scratch);
    let faults = [
        "source-disk:20ms/1MiB@0",
        "sink-disk:local2:20ms/1MiB@0",
        "fsync:local1:150ms",
        "control:local2:100ms",
    ];
    let words = faults.iter().flat_map(|fault| ["--inject", fault]);
    let words: Vec<&str> = words.chain(["source.bin", "local[1-2]:/x"]).collect();
    let _ = garland.cp(&words).with_code(0);
    let folder = run(&garland);
    let [head, one, two] = ["head", "local1", "local2"].map(|node| trace(&folder, node));
    assert!(busy_ms(&head, Stage::Read) >= 320, "{} ms", busy_ms(&head, Stage::Read));
    assert!(busy_ms(&two, Stage::Write) >= 320, "{} ms", busy_ms(&two, Stage::Write));
    assert!(busy_ms(&one, Stage::Fsync) >= 150, "{} ms", busy_ms(&one, Stage::Fsync));
    let late = spans(&head, Stage::Control).filter(|span| span.peer == 2);
    let late = late.filter(|span| span.block == Exchange::Commit.number());
    assert!(late.map(|span| span.busy_ns).sum::<u64>() >= 100_000_000);
    scratch.assert_nothing_left();
}

#[test]
fn a_pause_of_the_sender_is_a_gap_among_its_spans() {
    let scratch = Scratch::new("trace-pause");
    let _ = source(&scratch, 16 << 20);
    let garland = garland_in(&scratch);
    let _ = garland.cp(&["--inject", "pause:30ms/1MiB", "source.bin", "local1:/x"]).with_code(0);
    let head = trace(&run(&garland), "head");
    let sender = spans(&head, Stage::Send).next().expect("it has sent").thread;
    // The first pause comes before the second MiB.
    let gap = gaps_ms(&head)[&sender];
    assert!(gap >= 400, "{gap} ms of 450");
    scratch.assert_nothing_left();
}

#[test]
fn what_cannot_be_injected_is_refused() {
    let scratch = Scratch::new("trace-refused");
    let _ = source(&scratch, 1000);
    let garland = garland_in(&scratch);
    for (fault, why) in [
        ("slow", "sink-disk:NODE:TIME/SIZE[@FIRST]"),
        ("sink-disk:local9:1ms/1MiB", "local9 is not a destination of this copy"),
        ("fsync:local1:2h", "fsync:local1:2h"),
    ] {
        let said = garland.cp(&["--inject", fault, "source.bin", "local1:/x"]).with_code(2);
        assert!(said.err.contains(why), "{}", said.err);
    }
    std::fs::create_dir(scratch.path("tree")).expect("it can be made");
    let nothing = "it would change nothing: ";
    for (words, why) in [
        (&["rot:local1:1", "source.bin"][..], "nobody reads the file again"),
        (&["rot:local1:1", "--verify", "-r", "tree"], "the files of a tree have no common offsets"),
        (&["rot:local1:1000", "--verify", "source.bin"], "the copy has 1000 B"),
        (&["flip:1000", "source.bin"], "the copy has 1000 B"),
        (&["sink-disk:local1:1ms/1kB", "source.bin"], "the copy has 1000 B"),
        (&["source-disk:1ms/1@1kB", "source.bin"], "the copy has 1000 B"),
        (&["pause:1ms/1kB", "source.bin"], "the copy has 1000 B"),
        (
            &["flip:0", "--shared", "source.bin"],
            "with --shared the nodes read the source themselves",
        ),
    ] {
        let words = [&["--inject"], words, &["local1:/x"]].concat();
        let said = garland.cp(&words).with_code(2);
        assert!(said.err.contains(&format!("{nothing}{why}")), "{words:?}: {}", said.err);
    }
    for faults in [["rot:local1:1", "rot:local1:2"], ["clock:local1:1s", "clock:local1:2s"]] {
        let words = faults.iter().flat_map(|fault| ["--inject", fault]);
        let words: Vec<&str> = words.chain(["--verify", "source.bin", "local1:/x"]).collect();
        let said = garland.cp(&words).with_code(2);
        let why = format!("`{}`: this node already has a fault of this kind", faults[1]);
        assert!(said.err.contains(&why), "{}", said.err);
    }
    assert!(!scratch.root("local1").join("x").exists());
    scratch.assert_nothing_left();
}
