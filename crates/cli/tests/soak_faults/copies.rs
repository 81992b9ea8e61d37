//! Copies to nodes, stripes, and files that are gathered.

use std::collections::BTreeSet;

use crate::breach::Promise;
use crate::contents::{Files, Found, Version, own_bytes, write};
use crate::round::{Kind, Operation, Round};
use crate::scene::{End, Scene};
use crate::stage::{STUCK_S, node_name};

/// Puts older contents at the destinations, or the files that are gathered at their sources.
pub fn prepare(scene: &Scene<'_>) {
    match scene.round.operation {
        Operation::Gather => prepare_gather(scene),
        Operation::Stripe if scene.round.over_old => {
            let to = format!("{}:/d/x", scene.stage.list());
            let _ = scene.stage.garland.run(&["cp", "--stripe", "old/x", &to]).with_code(0);
        }
        Operation::Stripe => {}
        _ => prepare_copy(scene),
    }
}

fn prepare_copy(scene: &Scene<'_>) {
    let written = version(scene);
    for node in scene.stage.nodes().filter(|&node| has_old(scene, node)) {
        match scene.disks.iter().find(|(number, _)| *number == node) {
            Some((_, disk)) => disk.put("x", written.old.values().next().expect("x").clone()),
            None => write(&scene.stage.folder(node), &written.old),
        }
    }
}

fn version<'a>(scene: &'a Scene<'_>) -> &'a Version {
    let sources = &scene.stage.sources;
    if scene.round.operation == Operation::Directory { &sources.tree } else { &sources.file }
}

/// Whether the node has older contents. A small disk has no room for them, and a disk of the test's
/// own takes single files only.
fn has_old(scene: &Scene<'_>, node: u32) -> bool {
    let is_tree = scene.round.operation == Operation::Directory;
    scene.round.over_old
        && match scene.round.disk(node) {
            None | Some(Kind::FillingDisk) => true,
            Some(Kind::HangingDisk(_) | Kind::SlowDisk(_)) => !is_tree,
            Some(_) => false,
        }
}

/// Returns the names of the runs that can be resumed.
pub fn resumable(scene: &Scene<'_>) -> BTreeSet<String> {
    let runs = scene.stage.garland.runs().into_iter();
    let runs = runs.filter(|run| run.join("command.json").exists());
    runs.map(|run| run.file_name().expect("a name").to_string_lossy().into_owned()).collect()
}

/// The command of a round.
pub fn words(round: &Round, list: &str) -> Vec<String> {
    let mut words = vec!["cp", "--json"];
    let stuck = format!("{STUCK_S}s");
    if round.hangs() {
        words.extend(["--stuck-after", &stuck]);
    }
    if round.whole && round.operation != Operation::Gather && round.operation != Operation::Stripe {
        words.push("--whole");
    }
    let target = format!("{list}:/d/x");
    let folder = format!("{list}:/d");
    match round.operation {
        Operation::Tree => words.extend(["--shape", "tree", "x", &target]),
        Operation::Directory => words.extend(["-r", "tree", &folder]),
        Operation::Stripe => words.extend(["--stripe", "x", &target]),
        Operation::Gather => words.extend([target.as_str(), "all"]),
        Operation::Standing => words.extend(["x", &target]),
        _ => words.extend(["--shape", "chain", "x", &target]),
    }
    words.into_iter().map(str::to_owned).collect()
}

/// Judges the nodes' files and verdicts.
pub fn judge(scene: &mut Scene<'_>, end: &End) {
    let verdicts = scene.verdicts(end);
    if scene.round.operation == Operation::Stripe {
        let words: Vec<&str> = verdicts.values().map(|(word, _)| word.as_str()).collect();
        return judge_stripes(scene, &words);
    }
    let is_gather = scene.round.operation == Operation::Gather;
    for node in scene.stage.nodes() {
        let found = if is_gather {
            let version = Version { new: own(node), old: Files::new() };
            let folder = scene.stage.scratch.path("all").join(node_name(node));
            Found::below(&folder, &version, false)
        } else {
            let had_old = has_old(scene, node);
            Found::below(&scene.stage.folder(node), version(scene), had_old)
        };
        for torn in &found.torn {
            scene.breach(Promise::Partial, torn);
        }
        for strange in &found.strange {
            scene.breach(Promise::Orphan, format!("the file {strange} on n{node}"));
        }
        scene.judge_node(node, verdicts.get(&node), found.is_new);
    }
}

/// Stripes count on all nodes or on none, and the old or the new ones can be read.
fn judge_stripes(scene: &mut Scene<'_>, words: &[&str]) {
    let ok = words.iter().filter(|word| **word == "ok").count();
    if ok > 0 && ok < words.len() {
        scene.breach(Promise::Verdict, format!("{ok} of {} stripes are ok", words.len()));
    }
    let is_excused = scene.stage.nodes().any(|node| scene.is_excused(node));
    if !words.is_empty() && ok == 0 && !is_excused {
        scene.breach(Promise::Lost, "no stripe is ok, and all nodes were healthy at the end");
    }
    judge_set(scene, ok > 0);
    let was_disturbed = is_excused || scene.blows.of_head(Kind::KillHead);
    for node in scene.stage.nodes() {
        for path in crate::contents::names(&scene.stage.folder(node)) {
            let name = path.display().to_string();
            let is_known = name.starts_with("x.stripe-")
                || (was_disturbed && name.starts_with("x.old-"))
                || name.ends_with(".garland-part")
                || name == "filler";
            if !is_known {
                scene.breach(Promise::Orphan, format!("the file {name} on {}", node_name(node)));
            }
        }
    }
}

/// Reads a striped file back: the new one if it counts, else the new or the old one.
fn judge_set(scene: &mut Scene<'_>, is_ok: bool) {
    let from = format!("{}:/d/x", scene.stage.list());
    let back = scene.stage.garland.run(&["cp", "--stripe", &from, "back"]);
    let content = std::fs::read(scene.stage.scratch.path("back")).ok();
    let sources = &scene.stage.sources.file;
    let [new, old] = [&sources.new, &sources.old].map(|files| files.values().next());
    let is = |wanted: Option<&Vec<u8>>| content.is_some() && content.as_ref() == wanted;
    let shown = format!("exit code {}: {}{}", back.code, back.out, back.err);
    if is_ok && !is(new) {
        scene.breach(Promise::Verdict, format!("the stripes are ok and not read back: {shown}"));
    }
    let is_whole = is(new) || (scene.round.over_old && is(old));
    let may_be_absent = !scene.round.over_old && content.is_none();
    if !is_whole && !may_be_absent {
        scene.breach(Promise::Partial, format!("no set of stripes can be read: {shown}"));
    }
}

fn prepare_gather(scene: &Scene<'_>) {
    for node in scene.stage.nodes() {
        match scene.disks.iter().find(|(number, _)| *number == node) {
            Some((_, disk)) => disk.put("x", own_bytes(node)),
            None => write(&scene.stage.folder(node), &own(node)),
        }
    }
}

/// A node's own file.
fn own(node: u32) -> Files {
    Files::from([("x".into(), own_bytes(node))])
}
