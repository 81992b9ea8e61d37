//! Small jobs with files in and out.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use garland_testkit::random_bytes;

use crate::breach::Promise;
use crate::contents::{Files, Found, Version};
use crate::round::Kind;
use crate::scene::{End, Scene};

const JOBS: u64 = 64;
const LENGTH: usize = 200_000;

/// Writes the list of jobs and their inputs.
pub fn prepare(scene: &Scene<'_>) {
    let scratch = scene.stage.scratch;
    fs::create_dir_all(scratch.path("in")).expect("a directory can be made");
    fs::create_dir_all(scratch.path("out")).expect("a directory can be made");
    let mut jobs = String::new();
    for job in 1..=JOBS {
        fs::write(scratch.path(format!("in/{job}")), input(job)).expect("there is room");
        let command = format!("cat in/{job} in/{job} >out/{job}; sleep 0.3");
        write!(
            jobs,
            "[[job]]\ncommand = '{command}'\ninputs = ['in/{job}']\noutputs = ['out/{job}']\n"
        )
        .expect("a string takes text");
    }
    fs::write(scratch.path("jobs.toml"), jobs).expect("there is room");
}

/// The command; after the head's death the run is resumed.
pub fn words(list: &str, again: bool) -> Vec<String> {
    let words: &[&str] = if again {
        &["farm", "run", "--resume", "last", "--json"]
    } else {
        &["farm", "run", "jobs.toml", list, "--data", "stage", "--slots", "2", "--json"]
    };
    words.iter().map(|&word| word.to_owned()).collect()
}

/// All jobs succeed unless the user gives up; results are whole or absent; no node is lost that
/// nothing befell.
pub fn judge(scene: &mut Scene<'_>, end: &End) {
    let version = Version { new: outputs(), old: Files::new() };
    let found = Found::below(&scene.stage.scratch.path("out"), &version, false);
    for torn in &found.torn {
        scene.breach(Promise::Partial, torn);
    }
    for strange in &found.strange {
        scene.breach(Promise::Orphan, format!("the file out/{strange}"));
    }
    let Some(output) = &end.output else { return };
    let Some(result) = &end.result else {
        if !scene.is_interrupted() {
            scene.breach(Promise::Hang, format!("no result, exit code {}", output.code));
        }
        return;
    };
    let records = result["records"].as_array().cloned().unwrap_or_default();
    let failed = |record: &&serde_json::Value| record["outcome"] != serde_json::json!({"exit": 0});
    let failed: Vec<String> = records.iter().filter(failed).map(ToString::to_string).collect();
    if !scene.is_interrupted() && (records.len() as u64 != JOBS || !failed.is_empty()) {
        let shown = format!("{} of {JOBS} jobs ended, failed: {failed:?}", records.len());
        scene.breach(Promise::Lost, shown);
    } else if !scene.is_interrupted() && !found.is_new {
        scene.breach(Promise::Verdict, "all jobs succeeded, and not all results are there");
    }
    for node in result["nodes"].as_array().cloned().unwrap_or_default() {
        judge_node(scene, &node);
    }
}

fn judge_node(scene: &mut Scene<'_>, node: &serde_json::Value) {
    let name = node["name"].as_str().unwrap_or_default();
    let number = name.strip_prefix("lab:n").and_then(|number| number.parse::<u32>().ok());
    let (Some(number), Some(word)) = (number, node["verdict"].as_str()) else {
        return scene.breach(Promise::Hang, format!("no name or verdict in {node}"));
    };
    let excuses = scene.blows.struck.get(&number);
    let is_killed = excuses.is_some_and(|faults| faults.iter().any(|it| it.kind == Kind::Kill));
    if word != "ok" && !is_killed && !scene.is_interrupted() {
        let promise = if excuses.is_some() { Promise::Lost } else { Promise::Verdict };
        scene.breach(promise, format!("{name} is {word}: {}", node["reason"]));
    }
}

fn input(job: u64) -> Vec<u8> {
    random_bytes(LENGTH, 1000 + job)
}

fn outputs() -> Files {
    (1..=JOBS).map(|job| (PathBuf::from(job.to_string()), input(job).repeat(2))).collect()
}
