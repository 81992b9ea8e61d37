//! A round while it runs: its disks and faults, what its commands said, and what was found broken.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{HangingDisk, Process, RunOutput, Running};
use serde_json::Value;

use crate::blows::Blows;
use crate::breach::{Breach, Promise};
use crate::round::{Kind, Round};
use crate::stage::Stage;

/// What a command may take beyond what its faults explain; only a hang takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Agents end within 5 s of their head's death; a second is for a busy machine.
pub const ORPHANED: Duration = Duration::from_secs(8);

/// The parent of a process, if that runs.
fn parent_of(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// A round that runs.
pub struct Scene<'a> {
    pub stage: &'a Stage<'a>,
    pub round: &'a Round,
    pub blows: Blows<'a>,
    pub disks: Vec<(u32, HangingDisk)>,
    pub breaches: Vec<Breach>,
    /// Commands and their output.
    pub story: Vec<String>,
    /// How long the last command took.
    pub took: Duration,
}

/// The end of a command.
pub struct End {
    /// What it said; `None` if it hung and was killed.
    pub output: Option<RunOutput>,
    /// The result object, if it said one.
    pub result: Option<Value>,
}

impl<'a> Scene<'a> {
    /// Mounts the disks of a round.
    pub fn new(stage: &'a Stage<'a>, round: &'a Round) -> Self {
        Self {
            stage,
            round,
            blows: Blows::new(stage, round),
            disks: stage.disks(round),
            breaches: Vec::new(),
            story: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// Notes a broken promise.
    pub fn breach(&mut self, promise: Promise, what: impl Into<String>) {
        self.breaches.push(Breach { promise, what: what.into() });
    }

    /// Runs a command while faults strike.
    pub fn command(&mut self, words: &[String]) -> End {
        self.story.push(format!("garland {}", words.join(" ")));
        let mut running = self.stage.garland.start(words);
        let head = running.process();
        let began = clock::now_ns();
        let limit = self.limit();
        self.blows.start();
        let mut is_hung = false;
        while running.is_running() && !is_hung {
            self.blows.step(&head);
            std::thread::sleep(Duration::from_millis(2));
            is_hung = clock::now_ns() - began > limit.as_nanos() as u64;
        }
        self.took = Duration::from_nanos(clock::now_ns() - began);
        self.blows.stop();
        if is_hung {
            self.hung(running, limit);
            return End { output: None, result: None };
        }
        let output = running.end();
        let result = serde_json::from_str(&output.out).ok();
        let said = result.as_ref().map_or_else(|| output.out.clone(), summary);
        self.story.push(format!("exit code {}\n{said}{}", output.code, output.err));
        End { output: Some(output), result }
    }

    fn hung(&mut self, running: Running, limit: Duration) {
        let threads = stacks(running.process().pid);
        running.process().kill();
        let output = running.end();
        self.breach(Promise::Hang, format!("no end after {limit:.0?}; its threads: {threads}"));
        self.story.push(format!("killed, said\n{}{}", output.out, output.err));
    }

    fn limit(&self) -> Duration {
        let own = |kind: Kind| match kind {
            // A file at the speed of the disk.
            Kind::SlowDisk(ms) => 50 * ms,
            _ => 0,
        };
        let faults = self.round.faults.iter();
        let ms: u64 = faults.map(|fault| fault.for_ms.unwrap_or(0) + own(fault.kind)).sum();
        PATIENCE + Duration::from_millis(ms) + Duration::from_secs(12)
    }

    /// All processes that are there must have been there `before`, at the latest after `limit`.
    pub fn judge_quiet(&mut self, before: &BTreeSet<u32>, limit: Duration, when: &str) {
        let left = self.stage.await_quiet(before, limit);
        if !left.is_empty() {
            let shown: Vec<String> =
                left.iter().map(|it| format!("{} {}", it.pid, it.command)).collect();
            self.breach(Promise::Orphan, format!("{when}: {}", shown.join("; ")));
            left.iter().for_each(Process::kill);
        }
    }

    /// The processes that cannot end before their disk answers, and those that stand in for them
    /// outside of their node: they end with them.
    pub fn hanging(&self) -> BTreeSet<u32> {
        let name = |node: &u32| crate::stage::node_name(*node);
        let nodes = self.disks.iter().map(|(node, _)| name(node));
        let all = nodes.flat_map(|name| self.stage.lab.processes(&name).expect("the lab is up"));
        all.flat_map(|pid| [Some(pid), parent_of(pid)]).flatten().collect()
    }

    /// Has the calls return that hang.
    pub fn release(&mut self) {
        self.disks.iter().for_each(|(_, disk)| disk.release());
    }

    /// Whether the user gave up.
    pub fn is_interrupted(&self) -> bool {
        self.blows.of_head(Kind::Interrupt)
    }

    /// Whether something may have cost the node its copy.
    pub fn is_excused(&self, node: u32) -> bool {
        self.is_interrupted() || self.blows.excuse(node)
    }

    /// The verdicts of all nodes. One that is missing counts as a hang.
    pub fn verdicts(&mut self, end: &End) -> BTreeMap<u32, (String, String)> {
        let Some(output) = &end.output else { return BTreeMap::new() };
        let Some(result) = &end.result else {
            // A user may give up before there is anything to report.
            if !self.is_interrupted() {
                self.breach(Promise::Hang, format!("no result, exit code {}", output.code));
            }
            return BTreeMap::new();
        };
        let mut verdicts = BTreeMap::new();
        for node in self.stage.nodes() {
            let name = format!("lab:n{node}");
            let nodes = result["nodes"].as_array().into_iter().flatten();
            let found = nodes.filter(|it| it["name"] == name.as_str()).find_map(|it| {
                let word = it["verdict"].as_str()?.to_owned();
                Some((word, it["reason"].as_str().unwrap_or_default().to_owned()))
            });
            match found {
                Some(verdict) => drop(verdicts.insert(node, verdict)),
                None => self.breach(Promise::Hang, format!("n{node} has no verdict")),
            }
        }
        self.judge_code(output.code, &verdicts);
        verdicts
    }

    /// The exit code is 0 if all nodes are ok, and only then.
    fn judge_code(&mut self, code: i32, verdicts: &BTreeMap<u32, (String, String)>) {
        let all_ok = verdicts.values().all(|(word, _)| word == "ok");
        let has_ended = code == 130 && self.is_interrupted();
        if !has_ended && (code == 0) != all_ok {
            self.breach(Promise::Verdict, format!("exit code {code} with {verdicts:?}"));
        }
    }

    /// Judges the verdict of a node by what it has.
    pub fn judge_node(&mut self, node: u32, verdict: Option<&(String, String)>, is_new: bool) {
        let Some((word, reason)) = verdict else { return };
        let is_ok = word == "ok";
        let shown = format!("n{node} is {word} ({reason}), has the new contents: {is_new}");
        if is_ok && !is_new {
            self.breach(Promise::Verdict, &*shown);
        }
        if self.is_excused(node) {
            return;
        }
        if !is_new || !is_ok {
            self.breach(Promise::Lost, &*shown);
        }
        if !is_ok && !self.blows.struck.contains_key(&node) {
            self.breach(Promise::Verdict, format!("{shown}, and nothing befell it"));
        }
    }
}

/// The lines of a result that say what became of nodes and jobs.
fn summary(result: &Value) -> String {
    let nodes = result["nodes"].as_array().into_iter().flatten();
    let nodes =
        nodes.map(|node| format!("{} {} {}\n", node["name"], node["verdict"], node["reason"]));
    let records = result["records"].as_array().into_iter().flatten();
    let odd = records.filter(|record| record["outcome"] != serde_json::json!({"exit": 0}));
    let phases = format!("run {}, phases {}\n", result["run"], result["phases"]);
    nodes.chain([phases]).chain(odd.map(|record| format!("{record}\n"))).collect()
}

/// What the threads of a process wait for, as the kernel says.
fn stacks(pid: u32) -> String {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let lines = threads.map(|thread| {
        let name = read(thread.path().join("comm"));
        let at = read(thread.path().join("wchan"));
        format!("{} {}", name.trim(), at.trim())
    });
    lines.collect::<Vec<_>>().join(", ")
}
