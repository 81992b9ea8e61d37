//! Runs a round and judges it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::breach::Breach;
use crate::round::{Kind, Operation, Round};
use crate::scene::{End, ORPHANED, Scene};
use crate::stage::Stage;
use crate::{copies, farm, mounted};

/// What became of a round.
pub struct Outcome {
    /// What befell nodes and head.
    pub struck: Vec<Kind>,
    pub breaches: Vec<Breach>,
    /// How long its last command took.
    pub took: Duration,
    /// The longest of its faults that end.
    pub longest: Duration,
    /// Everything that was done and said.
    pub story: String,
}

/// Runs a round, and cleans up after it.
pub fn run(stage: &Stage<'_>, round: &Round) -> Outcome {
    let alone = stage.ids();
    let mut scene = Scene::new(stage, round);
    if round.operation.is_served() {
        let _ = stage.garland.run(&["up", &stage.list()]).with_code(0);
    }
    match round.operation {
        Operation::Mount => {
            mounted::prepare(&scene);
            mounted::run(&mut scene);
        }
        Operation::Farm => {
            farm::prepare(&scene);
            commands(&mut scene);
        }
        _ => {
            copies::prepare(&scene);
            commands(&mut scene);
        }
    }
    if round.operation.is_served() {
        let down = stage.garland.run(&["down", "--forget", &stage.list()]);
        scene.story.push(format!("garland down: {}\n{}{}", down.code, down.out, down.err));
        scene.judge_quiet(&alone, ORPHANED, "after garland down");
    }
    let Scene { blows, disks, breaches, story, took, .. } = scene;
    drop(disks);
    stage.clear();
    Outcome {
        struck: blows.struck.values().flatten().map(|fault| fault.kind).collect(),
        breaches,
        took,
        longest: blows.longest(),
        story: format!("{}\n{}", blows.story.join("\n"), story.join("\n")),
    }
}

/// Runs the command, a second time if its head was killed, and judges what it leaves.
fn commands(scene: &mut Scene<'_>) {
    let before = scene.stage.ids();
    let earlier = copies::resumable(scene);
    let mut end = scene.command(&words(scene));
    if scene.blows.of_head(Kind::KillHead) && end.result.is_none() {
        let stuck = &before | &scene.hanging();
        scene.judge_quiet(&stuck, ORPHANED, "after the head's death");
        end = scene.command(&words_again(scene, &earlier));
    }
    scene.blows.end();
    scene.release();
    scene.judge_quiet(&before, ORPHANED, "after the end");
    judge(scene, &end);
}

fn words(scene: &Scene<'_>) -> Vec<String> {
    let list = scene.stage.list();
    match scene.round.operation {
        Operation::Farm => farm::words(&list, false),
        _ => copies::words(scene.round, &list),
    }
}

/// Returns the command that goes on after the head's death. `earlier` are the runs that could be
/// resumed before the round: a head may die before its run can be.
fn words_again(scene: &Scene<'_>, earlier: &BTreeSet<String>) -> Vec<String> {
    let now = copies::resumable(scene);
    match (scene.round.operation, now.difference(earlier).next()) {
        (Operation::Farm, _) => farm::words(&scene.stage.list(), true),
        (_, Some(run)) => ["cp", "--resume", run, "--json"].map(str::to_owned).to_vec(),
        (_, None) => words(scene),
    }
}

fn judge(scene: &mut Scene<'_>, end: &End) {
    match scene.round.operation {
        Operation::Farm => farm::judge(scene, end),
        _ => copies::judge(scene, end),
    }
}
