//! A mount's trace, as of any command that moves bytes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use garland_core::trace::{Record, Stage as At, Trace};
use garland_sys::closing;
use garland_testkit::{Scratch, random_file, until};
use serde_json::Value;

use crate::garland_in;
use crate::mount::stage::{Stage, shell};

/// A mount's run, newest last.
fn run(stage: &Stage<'_>) -> std::path::PathBuf {
    let mut runs = stage.garland.runs();
    runs.retain(|run| {
        run.file_name().is_some_and(|name| name.to_string_lossy().contains("-mount-"))
    });
    runs.pop().expect("a mount is a run")
}

/// How long an agent stands still; that it is missed takes ten times as long.
const STILL: Duration = Duration::from_millis(300);

/// A file of 1000 bytes, which whoever closes it has to wait for.
fn close_while_the_agent_stands_still(stage: &Stage<'_>) {
    let mut file = File::create(stage.path("local2/slow")).expect("it can be made");
    let agent = stage.agent("local2");
    agent.stop();
    until("a stop of all its threads", || stands_still(agent.pid));
    file.write_all(&[1; 1000]).expect("it is taken");
    std::thread::scope(|scope| {
        let closed = scope.spawn(|| closing::close(file));
        std::thread::sleep(STILL);
        agent.go_on();
        closed.join().expect("it doesn't panic").expect("it is closed");
    });
}

fn stands_still(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    threads.flatten().all(|thread| {
        fs::read_to_string(thread.path().join("stat")).is_ok_and(|stat| stat.contains(") T "))
    })
}

#[test]
fn what_was_asked_is_in_the_trace_with_its_bytes_and_waits() {
    let scratch = Scratch::new("mount-trace");
    let stage = Stage::new(&scratch, 2);
    random_file(&scratch.path("source"), 9_000_001, 1);
    shell(
        scratch.folder(),
        "cp source m/local1/x; sync m/local1/x; cp m/local1/x m/local2/y; mkdir m/local2/d
         ls -lR m/local2 >list; mv m/local2/y m/local2/d/z; rm -r m/local2/d",
    );
    close_while_the_agent_stands_still(&stage);
    let status = stage.garland.run(&["mount", "--status", "--json"]).with_code(0).json();
    let folder = run(&stage);
    let name = folder.file_name().expect("it has a name").to_string_lossy().into_owned();
    assert_eq!(status["mounts"][0]["run"], name.as_str(), "{status}");
    stage.end();

    let bytes = fs::read(folder.join("trace/head.trace")).expect("the mount has left a trace");
    let (trace, cut) = Trace::decode(&bytes).expect("it is one");
    assert_eq!(cut, None);
    let mut sums: BTreeMap<(u16, &str), (u64, u64, u64)> = BTreeMap::new();
    for record in &trace.records {
        let Record::Span(span) = record else { panic!("there was room: {record:?}") };
        assert!(span.busy_ns <= span.end_ns - span.begin_ns, "{span:?}");
        let sum = sums.entry((span.peer, span.stage.name())).or_default();
        *sum = (sum.0 + u64::from(span.count), sum.1 + span.bytes, sum.2 + span.busy_ns);
    }
    let of = |node: u16, stage: At| sums.get(&(node, stage.name())).copied().unwrap_or_default();
    assert_eq!((of(1, At::Write).1, of(2, At::Write).1), (9_000_001, 9_001_001), "{sums:?}");
    assert!(of(1, At::Read).1 >= 9_000_001, "{sums:?}");
    assert_eq!(of(1, At::Fsync).0, 1, "{sums:?}");
    assert_eq!(of(2, At::Change).0, 4, "mkdir, rename, unlink, rmdir: {sums:?}");
    assert!(of(1, At::Dial).0 >= 1 && of(2, At::Dial).0 >= 1, "{sums:?}");
    assert!(of(1, At::LookUp).0 >= 2 && of(2, At::LookUp).0 >= 2, "{sums:?}");
    assert!(of(1, At::WaitUpstream).0 >= 1, "somebody waited for what was read: {sums:?}");
    let waited = Duration::from_nanos(of(2, At::WaitDownstream).2);
    assert!(waited > STILL / 2, "and for what was written: {sums:?}");

    // The same by what others read.
    let garland = garland_in(&scratch);
    let out = scratch.path("mount.csv").display().to_string();
    let words = ["trace", "export", &name, "--format", "csv", "-o", &out, "--json"];
    let export = garland.run(&words).with_code(0).json();
    let stages: BTreeMap<&str, &Value> = export["stages"]
        .as_array()
        .expect("it has stages")
        .iter()
        .map(|stage| (stage["stage"].as_str().expect("it has a name"), stage))
        .collect();
    assert_eq!(stages["write"]["bytes"], 18_001_002, "{export}");
    let csv = fs::read_to_string(&out).expect("it was written");
    assert!(csv.lines().any(|line| line.contains(",write,") && line.contains(",local2,")), "{csv}");
    // `last` is a mount for those who can tell of one, and no copy for those who can't.
    let said = garland.run(&["explain", "last"]).with_code(2);
    assert!(said.err.contains("no run has a trace of a copy"), "{}", said.err);
    let result: Value =
        serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap();
    assert_eq!(
        (&result["schema"], &result["ended"]),
        (&"garland.mount/2".into(), &"unmounted".into())
    );
    assert_eq!(result["account"]["nodes"][1]["bytes_written"], 9_001_001, "{result}");
    let page = scratch.path("page.html").display().to_string();
    let _ = garland.run(&["report", &name, "-o", &page]).with_code(0);
}

#[test]
fn a_mount_that_lasts_keeps_its_trace_meanwhile() {
    let scratch = Scratch::new("mount-trace-kept");
    let stage = Stage::new(&scratch, 1);
    fs::write(stage.path("local1/x"), "x").unwrap();
    let file = run(&stage).join("trace/head.trace");
    until("a trace of a mount that is up", || file.exists());
    let (trace, cut) = Trace::decode(&fs::read(&file).unwrap()).expect("it is one");
    assert!(cut.is_none() && !trace.records.is_empty());
    stage.end();
}
