//! Files of the nodes, read under a mount.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_sys::clock;
use garland_sys::process::end_with_parent;
use garland_testkit::Running;

use crate::breach::Promise;
use crate::contents::{Files, own_bytes, write};
use crate::round::{Kind, NODES};
use crate::scene::{ORPHANED, Scene};

/// How long files are read.
const READING: Duration = Duration::from_secs(6);

/// Calls get an error after 5 s without the node; the rest is for a busy machine.
const LONGEST_READ: Duration = Duration::from_secs(12);

/// How long a node that is back may be missing, and a mount may take to appear.
const BACK: Duration = Duration::from_secs(20);

const READERS: u32 = 3;

/// An attempt to read a node's file.
struct Pass {
    node: u32,
    at_ms: u64,
    took: Duration,
    /// Whether all bytes were right.
    read: io::Result<bool>,
}

/// Writes the nodes' files.
pub fn prepare(scene: &Scene<'_>) {
    for node in scene.stage.nodes() {
        write(&scene.stage.folder(node), &Files::from([("x".into(), own_bytes(node))]));
    }
    fs::create_dir(scene.stage.scratch.path("m")).expect("a directory can be made");
}

/// Mounts the nodes, reads their files while faults strike, and looks that all are back.
pub fn run(scene: &mut Scene<'_>) {
    let before = scene.stage.ids();
    let mut server = serve(scene);
    let began = clock::now_ns();
    let is_over = AtomicBool::new(false);
    let passes = std::thread::scope(|scope| {
        let stage = scene.stage;
        let is_over = &is_over;
        let read = move |reader| read_all(stage, reader, began, is_over);
        let readers: Vec<_> =
            (0..READERS).map(|reader| scope.spawn(move || read(reader))).collect();
        strike(scene, &mut server, began);
        is_over.store(true, Ordering::Relaxed);
        let end = clock::now_ns() + LONGEST_READ.as_nanos() as u64;
        while readers.iter().any(|reader| !reader.is_finished()) {
            if clock::now_ns() > end {
                scene.breach(Promise::Hang, "a read under the mount does not return");
                server.process().kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let passes = readers.into_iter().map(|reader| reader.join().expect("it does not panic"));
        passes.flatten().collect::<Vec<_>>()
    });
    scene.took = Duration::from_nanos(clock::now_ns() - began);
    judge(scene, &passes);
    if !scene.is_interrupted() {
        judge_return(scene);
    }
    unmount(scene, server);
    scene.judge_quiet(&before_without_killed(scene, before), ORPHANED, "after the mount's end");
    let mounts = scene.stage.mounts();
    if !mounts.is_empty() {
        scene.breach(Promise::Orphan, format!("mounts are left: {mounts:?}"));
        mounts.iter().for_each(|place| crate::stage::unmount(place));
    }
}

/// What was there before, and the agents that were started since for killed ones.
fn before_without_killed(
    scene: &Scene<'_>,
    mut before: std::collections::BTreeSet<u32>,
) -> std::collections::BTreeSet<u32> {
    if scene.blows.struck.values().flatten().any(|fault| fault.kind == Kind::Kill) {
        let agents = scene.stage.processes().into_iter().filter(|it| it.is_agent(None));
        before.extend(agents.map(|agent| agent.pid));
    }
    before
}

/// Serves the mount in the background; it ends with this process.
fn serve(scene: &mut Scene<'_>) -> Running {
    let dir = scene.stage.scratch.path("m");
    let words = ["mount", "--foreground", "m", &scene.stage.list()];
    scene.story.push(format!("garland {}", words.join(" ")));
    let device = || fs::metadata(&dir).map(|stat| stat.dev()).ok();
    let outside = fs::metadata(scene.stage.scratch.folder()).expect("the directory exists").dev();
    let mut command = scene.stage.garland.command(&words);
    end_with_parent(&mut command);
    let mut server = Running::start(command);
    let end = clock::now_ns() + BACK.as_nanos() as u64;
    while device().is_none_or(|device| device == outside) {
        if clock::now_ns() > end || !server.is_running() {
            scene.breach(Promise::Hang, "the mount does not appear");
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    server
}

/// Lets the faults strike while files are read. A server that is killed is started again.
fn strike(scene: &mut Scene<'_>, server: &mut Running, began: u64) {
    scene.blows.start();
    let mut was_killed = false;
    while clock::now_ns() - began < READING.as_nanos() as u64 {
        scene.blows.step(&server.process());
        if scene.is_interrupted() {
            break;
        }
        if scene.blows.of_head(Kind::KillHead) && !was_killed {
            was_killed = true;
            scene.blows.stop();
            *server = serve(scene);
            scene.blows.start();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    scene.blows.stop();
    scene.blows.end();
}

/// Reads the files of all nodes in turn until it is over.
fn read_all(
    stage: &crate::stage::Stage<'_>,
    reader: u32,
    began: u64,
    is_over: &AtomicBool,
) -> Vec<Pass> {
    let mut passes = Vec::new();
    let mut node = reader * 3;
    while !is_over.load(Ordering::Relaxed) {
        node = node % NODES + 1;
        let there = stage.folder(node).join("x");
        // Another time each time, so that nothing is read from the kernel's memory.
        let now = std::time::UNIX_EPOCH + Duration::from_nanos(clock::wall_ns());
        let touched = File::options().write(true).open(&there).and_then(|it| it.set_modified(now));
        touched.expect("the node's file is there");
        let start = clock::now_ns();
        let read = read_one(&stage.scratch.path("m"), node);
        let took = Duration::from_nanos(clock::now_ns() - start);
        if read.is_err() {
            std::thread::sleep(Duration::from_millis(50));
        }
        passes.push(Pass { node, at_ms: (start - began) / 1_000_000, took, read });
    }
    passes
}

fn read_one(mount: &Path, node: u32) -> io::Result<bool> {
    let wanted = own_bytes(node);
    let mut file = File::open(mount.join(format!("n{node}/d/x")))?;
    let mut buffer = vec![0; 256 << 10];
    let mut at = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(at == wanted.len());
        }
        if wanted.get(at..at + read) != Some(&buffer[..read]) {
            return Ok(false);
        }
        at += read;
    }
}

/// No read gives a wrong byte or takes too long, and none fails on a node that nothing befell.
fn judge(scene: &mut Scene<'_>, passes: &[Pass]) {
    let ok = passes.iter().filter(|pass| matches!(pass.read, Ok(true))).count();
    let all = passes.len();
    scene.story.push(format!("{ok} of {all} passes read a whole file"));
    let head_died = scene.is_interrupted() || scene.blows.of_head(Kind::KillHead);
    for pass in passes {
        let shown = format!("n{} at {} ms in {:.1?}", pass.node, pass.at_ms, pass.took);
        if pass.took > LONGEST_READ {
            scene.breach(Promise::Hang, format!("reading {shown}"));
        }
        let is_struck = scene.blows.struck.contains_key(&pass.node);
        match &pass.read {
            Ok(true) => {}
            Ok(false) => scene.breach(Promise::Partial, format!("wrong bytes of {shown}")),
            Err(error) if !is_struck && !head_died => {
                scene.breach(Promise::Verdict, format!("{error} of {shown}, which nothing befell"));
            }
            Err(error) => scene.story.push(format!("{error} of {shown}")),
        }
    }
}

/// All nodes are back, the killed ones with new agents.
fn judge_return(scene: &mut Scene<'_>) {
    let list = scene.stage.list();
    let up = scene.stage.garland.run(&["up", &list]);
    scene.story.push(format!("garland up {list}\nexit code {}\n{}{}", up.code, up.out, up.err));
    let mount = scene.stage.scratch.path("m");
    for node in scene.stage.nodes() {
        let end = clock::now_ns() + BACK.as_nanos() as u64;
        let last = loop {
            let read = read_one(&mount, node);
            if matches!(read, Ok(true)) || clock::now_ns() > end {
                break read;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        if !matches!(last, Ok(true)) {
            scene.breach(Promise::Lost, format!("n{node} is not back under the mount: {last:?}"));
        }
    }
}

fn unmount(scene: &mut Scene<'_>, mut server: Running) {
    if !scene.is_interrupted() {
        let said = scene.stage.garland.run(&["mount", "--unmount", "m"]);
        if said.code != 0 {
            scene.breach(Promise::Orphan, format!("cannot unmount: {}", said.err));
        }
    }
    let end = clock::now_ns() + BACK.as_nanos() as u64;
    while server.is_running() {
        if clock::now_ns() > end {
            scene.breach(Promise::Hang, "the mount's process does not end");
            server.process().kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = server.end();
    scene.story.push(format!("mount: exit code {}\n{}{}", output.code, output.out, output.err));
}
