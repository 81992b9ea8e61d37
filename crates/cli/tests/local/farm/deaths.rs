//! Nodes and controllers that die in mid-run.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::PathBuf;

use garland_testkit::{Garland, Scratch, until};

use super::{garland_in, list, only_run, outcomes, records_in};

/// Jobs that note each time that they end, and take so many seconds.
fn noted(scratch: &Scratch, count: u32, seconds: &str) {
    fs::create_dir_all(scratch.path("notes")).unwrap();
    let notes = scratch.path("notes");
    let line = |number| format!("sleep {seconds}; echo >>'{}/{number}'\n", notes.display());
    list(scratch, "jobs", &(1..=count).map(line).collect::<String>());
}

/// How often each job has ended.
fn notes(scratch: &Scratch, count: u32) -> Vec<usize> {
    let note = |number: u32| fs::read_to_string(scratch.path("notes").join(number.to_string()));
    (1..=count).map(|number| note(number).unwrap_or_default().lines().count()).collect()
}

fn journaled(garland: &Garland<'_>) -> usize {
    let runs = garland.runs();
    let journal = runs.first().and_then(|run| fs::read_to_string(run.join("journal.jsonl")).ok());
    journal.map_or(0, |journal| journal.lines().count())
}

#[test]
fn a_dead_nodes_jobs_are_done_by_the_others() {
    let scratch = Scratch::new("farm-dead");
    noted(&scratch, 12, "0.3");
    let garland = garland_in(&scratch);
    let root = scratch.path("roots");
    let words = ["farm", "run", "jobs", "local[1-3]", "--slots", "1", "--json", "--local-root"];
    let words: Vec<&str> = words.iter().copied().chain([root.to_str().unwrap()]).collect();
    let running = garland.start(&words);
    until("the first jobs are done", || journaled(&garland) >= 2);
    garland.agent("local2").kill();
    let said = running.end().with_code(0);
    let records = records_in(&said);
    assert_eq!(records.len(), 12);
    assert!(records.iter().any(|record| record["tries"] == 2), "{records:?}");
    let nodes = &said.json()["nodes"];
    assert_eq!(nodes[1]["verdict"], "dead", "{nodes}");
    assert!(notes(&scratch, 12).iter().all(|&count| count >= 1));
}

#[test]
fn results_of_a_node_that_dies_while_they_are_copied_are_whole() {
    const BYTES: usize = 60_000_000;
    let scratch = Scratch::new("farm-dead-stage");
    fs::create_dir(scratch.path("out")).unwrap();
    let job = |at: u32| {
        format!(
            "[[job]]\ncommand = 'yes {at} | head -c {BYTES} >out/{at}; echo {at} >out/{at}.end'\n\
             outputs = ['out/{at}', 'out/{at}.end']\n"
        )
    };
    // The run lasts until the death is noticed.
    let last = "[[job]]\ncommand = 'sleep 2'\n".to_owned();
    list(&scratch, "jobs.toml", &(1..=2).map(job).chain([last]).collect::<String>());
    let garland = garland_in(&scratch);
    let root = scratch.path("roots");
    let words = ["farm", "run", "jobs.toml", "local[1-2]", "--slots", "1", "--data", "stage"];
    let more = ["--json", "--local-root", root.to_str().unwrap()];
    let running = garland.start(&[&words[..], &more].concat());
    until("a result is copied", || fs::read_dir(scratch.path("out")).unwrap().count() > 0);
    garland.agent("local1").kill();
    let said = running.end().with_code(0);
    assert_eq!(said.json()["nodes"][0]["verdict"], "dead", "{}", said.out);
    // Nothing else is there, under a hidden name or any other.
    assert_eq!(fs::read_dir(scratch.path("out")).unwrap().count(), 4);
    for at in 1..=2 {
        let result = fs::read_to_string(scratch.path(format!("out/{at}"))).unwrap();
        assert!(result == format!("{at}\n").repeat(BYTES / 2), "result {at} is not whole");
        let end = fs::read_to_string(scratch.path(format!("out/{at}.end"))).unwrap();
        assert_eq!(end, format!("{at}\n"));
    }
}

#[test]
fn a_run_goes_on_after_its_controllers_death() {
    let scratch = Scratch::new("farm-resume");
    noted(&scratch, 16, "0.25");
    let garland = garland_in(&scratch);
    let running = garland.start(&["farm", "run", "jobs", "local[1-2]", "--slots", "2"]);
    until("some jobs are done", || journaled(&garland) >= 4);
    running.process().kill();
    drop(running);
    // Agents kill what they run when nobody commands them any more.
    scratch.assert_nobody_left();
    let before = notes(&scratch, 16);
    let run = only_run(&garland);
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let done: Vec<usize> = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|record| usize::try_from(record["job"].as_u64()?).ok())
        .collect();
    assert!(done.len() >= 4 && done.len() < 16, "{done:?}");
    let said = garland.run(&["farm", "run", "--resume", "last", "--json"]).with_code(0);
    let after = records_in(&said);
    let jobs: Vec<u64> = after.iter().filter_map(|record| record["job"].as_u64()).collect();
    assert_eq!(jobs, (1..=16).collect::<Vec<_>>());
    let last = notes(&scratch, 16);
    for job in done {
        assert_eq!(last[job - 1], before[job - 1], "job {job} was done, and ran again");
    }
    assert!(last.iter().all(|&count| (1..=2).contains(&count)), "{last:?}");
    // There is nothing more to do, and that is no error.
    let again = garland.run(&["farm", "run", "--resume", "last"]).with_code(0);
    assert!(again.err.contains("16 of 16 jobs done"), "{}", again.err);
    assert!(again.err.contains("nothing is left to do: all 16 jobs of "), "{}", again.err);
    assert_eq!(notes(&scratch, 16), last);
    // What another version began isn't gone on with.
    let settings = fs::read_to_string(run.join("farm.json")).unwrap();
    fs::write(run.join("farm.json"), settings.replace("\"version\": 2", "\"version\": 3")).unwrap();
    let said = garland.run(&["farm", "run", "--resume", "last"]).with_code(2);
    assert!(said.err.contains("of version 3; this garland supports version 2"), "{}", said.err);
}

#[test]
fn an_interrupt_loses_no_output_of_jobs_that_have_ended() {
    let scratch = Scratch::new("farm-turns");
    list(&scratch, "jobs", "until test -e go; do sleep 0.02; done; echo 1\necho 2\necho 3\n");
    let garland = garland_in(&scratch);
    let farm = garland.start(&["farm", "run", "-k", "--slots", "2", "jobs"]);
    until("the last job", || journaled(&garland) == 2);
    farm.process().interrupt();
    let first = farm.end().with_code(130).out;
    list(&scratch, "go", "");
    let second = garland.run(&["farm", "run", "-k", "--resume"]).with_code(0).out;
    assert_eq!((first.as_str(), second.as_str()), ("2\n3\n", "1\n"));
    scratch.assert_nothing_left();
}

#[test]
fn the_user_may_give_up_and_go_on() {
    let scratch = Scratch::new("farm-interrupt");
    noted(&scratch, 8, "0.4");
    let garland = garland_in(&scratch);
    let running = garland.start(&["farm", "run", "jobs", "--slots", "2"]);
    until("a job is done", || journaled(&garland) >= 1);
    running.process().interrupt();
    let said = running.end().with_code(130);
    assert!(said.err.contains("to continue: garland farm run --resume"), "{}", said.err);
    scratch.assert_nobody_left();
    let said = garland.run(&["farm", "run", "--resume"]).with_code(0);
    assert!(said.err.contains("8 of 8 jobs done"), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn what_another_user_may_have_written_in_a_run_is_not_resumed() {
    let scratch = Scratch::new("farm-foreign");
    list(&scratch, "jobs", "echo out; touch ran; exit 1\n");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["farm", "run", "jobs"]).with_code(3);
    let forget = || fs::remove_file(scratch.path("ran"));
    forget().expect("the job ran");
    let run = only_run(&garland);
    let asked = run.to_str().expect("a path of text");
    let refused = |why: &str| {
        let said = garland.run(&["farm", "run", "--resume", asked]).with_code(2);
        assert!(said.err.contains("is not used: ") && said.err.contains(why), "{}", said.err);
        assert!(!scratch.path("ran").exists(), "{why}: {}", said.err);
    };
    // Others read and write none of them, whatever the umask.
    let mut files: Vec<PathBuf> =
        fs::read_dir(&run).unwrap().map(|it| it.unwrap().path()).collect();
    files.push(run.join("output/1"));
    for file in &files {
        let mode = fs::metadata(file).unwrap().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", file.display());
    }
    for name in ["farm.json", "jobs.jsonl", "journal.jsonl", "output", "output/1"] {
        let path = run.join(name);
        let former = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o746)).unwrap();
        refused(&format!("{name}: other users may write to it (mode 0746)"));
        fs::set_permissions(&path, former).unwrap();
        // Only root can give a file to another user.
        if chown(&path, Some(65534), None).is_ok() {
            refused(&format!("{name}: it belongs to user 65534"));
            chown(&path, Some(0), None).unwrap();
        }
    }
    let jobs = run.join("jobs.jsonl");
    fs::rename(&jobs, scratch.path("theirs")).unwrap();
    symlink(scratch.path("theirs"), &jobs).unwrap();
    refused("jobs.jsonl: it is a symbolic link");
    fs::rename(scratch.path("theirs"), &jobs).unwrap();
    let _ = garland.run(&["farm", "run", "--resume", asked]).with_code(3);
    forget().expect("one's own run is resumed");
}

#[test]
fn a_killed_agents_jobs_are_killed_too() {
    let scratch = Scratch::new("farm-orphan");
    let note = scratch.path("pid");
    // The second try finds the note of the first.
    let line = format!("[ -e '{0}' ] && exit 0; echo $$ >'{0}'; exec sleep 1000\n", note.display());
    list(&scratch, "jobs", &line);
    let garland = garland_in(&scratch);
    let root = scratch.path("roots");
    let words = ["farm", "run", "jobs", "local[1-2]", "--local-root", root.to_str().unwrap()];
    let running = garland.start(&words);
    let number = || fs::read_to_string(&note).ok().filter(|text| text.ends_with('\n'));
    until("the job runs", || number().is_some());
    garland.agent("local1").kill();
    let said = running.end().with_code(0);
    assert!(said.err.contains("lost    local1"), "{}", said.err);
    let process = format!("/proc/{}", number().unwrap().trim());
    until("the job of the killed agent is gone", || !std::path::Path::new(&process).exists());
    scratch.assert_nothing_left();
}

/// A line of a job that starts a process in a session of its own, whose parent has ended. It notes
/// its number in the file `name` and starts `then` in its place.
fn in_another_session(scratch: &Scratch, name: &str, then: &str) -> String {
    let path = scratch.path(name);
    format!(
        "(setsid sh -c '(sh -c \"echo \\$\\$ >{}; exec {then}\") &' >/dev/null 2>&1 &)",
        path.display()
    )
}

fn await_note(scratch: &Scratch, name: &str) {
    let noted = || fs::read_to_string(scratch.path(name)).is_ok_and(|text| text.ends_with('\n'));
    until(&format!("{name} is noted"), noted);
}

#[test]
fn processes_of_jobs_in_other_sessions_end_with_the_run() {
    let scratch = Scratch::new("farm-sessions");
    let garland = garland_in(&scratch);
    let left = |name: &str| in_another_session(&scratch, name, "sleep 1000");
    // One job ends before its process does, one does not.
    let until_noted = format!("until [ -s {} ]; do sleep 0.1; done", scratch.path("two").display());
    let lines = format!("{}; sleep 1000\n{}; {until_noted}\n", left("one"), left("two"));
    list(&scratch, "jobs", &lines);
    let roots = scratch.path("roots");
    let nodes = ["local[1-2]", "--local-root", roots.to_str().unwrap()];
    for nodes in [&nodes[..], &[]] {
        let running = garland.start(&[&["farm", "run", "jobs"], nodes].concat());
        await_note(&scratch, "one");
        await_note(&scratch, "two");
        running.process().interrupt();
        let _ = running.end().with_code(130);
        scratch.assert_nobody_left();
        fs::remove_file(scratch.path("one")).unwrap();
        fs::remove_file(scratch.path("two")).unwrap();
    }
    // A killed agent. The second try finds the note of the first.
    let line =
        format!("[ -e {} ] || {{ {}; sleep 1000; }}\n", scratch.path("one").display(), left("one"));
    list(&scratch, "jobs", &line);
    let running = garland.start(&[&["farm", "run", "jobs"], &nodes[..]].concat());
    await_note(&scratch, "one");
    garland.agent("local1").kill();
    let said = running.end().with_code(0);
    assert!(said.err.contains("lost    local1"), "{}", said.err);
    assert!(said.err.contains("1 of 1 jobs done on 1 of 2 nodes in "), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn processes_of_a_job_in_other_sessions_end_when_its_time_is_over() {
    let scratch = Scratch::new("farm-late");
    let garland = garland_in(&scratch);
    let left = in_another_session(&scratch, "late", "sleep 1000");
    let note = scratch.path("late");
    // The other job ends when the process of the first one is gone, or waits for its parent.
    let runs = format!("grep -qs ^State:.[^Z] /proc/$(cat {})/status", note.display());
    let gone = format!(
        "until [ -s {} ]; do sleep 0.1; done; while {runs}; do sleep 0.1; done",
        note.display()
    );
    let jobs = format!(
        "[[job]]\ncommand = \"\"\"{}; sleep 1000\"\"\"\ntimeout = \"3s\"\n[[job]]\ncommand = '{gone}'\n",
        left.replace('\\', "\\\\")
    );
    list(&scratch, "jobs.toml", &jobs);
    let said = garland.run(&["farm", "run", "jobs.toml", "--slots", "2", "--json"]).with_code(1);
    assert_eq!(outcomes(&said), ["\"timeout\"", "{\"exit\":0}"]);
    scratch.assert_nothing_left();
}
