//! Jobs and lists that can't be, and jobs that behave badly.

use std::fs;

use garland_testkit::Scratch;
use serde_json::json;

use super::{garland, list, only_run, outcomes, output, records};

#[test]
fn jobs_that_fail_hang_or_are_killed_are_named() {
    let scratch = Scratch::new("farm-fail");
    list(
        &scratch,
        "jobs",
        "true\nexit 3\nsleep 1000 & sleep 1000\nkill -9 $$\nno-such-program x\n",
    );
    let garland = garland(&scratch);
    let words =
        ["farm", "run", "jobs", "local[1-2]", "--timeout", "300ms", "--tries", "2", "--json"];
    let said = garland.run(&words).with_code(1);
    let wanted = [
        json!({ "exit": 0 }),
        json!({ "exit": 3 }),
        json!("timeout"),
        json!({ "signal": 9 }),
        json!({ "failed": "starting it: no such file or directory" }),
    ];
    let records = records(&said);
    for (record, wanted) in records.iter().zip(&wanted) {
        assert_eq!(record["outcome"], *wanted);
        assert_eq!(record["tries"], if record["job"] == 1 { 1 } else { 2 }, "{record}");
    }
    let result = said.json();
    assert_eq!((&result["done"], &result["failed"]), (&json!(1), &json!(4)));
    // What a job has started ends with it.
    scratch.assert_nothing_left();
    let shown = fs::read_to_string(only_run(&garland).join("result.json")).unwrap();
    assert!(shown.contains("garland.farm/1"));
}

#[test]
fn people_are_told_which_jobs_failed_and_why() {
    let scratch = Scratch::new("farm-named");
    list(&scratch, "jobs", "true\nexit 3\n");
    let said = garland(&scratch).run(&["farm", "run", "jobs", "--tries", "1"]).with_code(1);
    assert!(said.out.contains("failed  job 2 (exit 3) on "), "{}", said.out);
    assert!(said.out.contains(": exit code 3 (1 try)\n"), "{}", said.out);
    assert!(said.out.contains("1 of 2 jobs done"), "{}", said.out);
}

#[test]
fn a_job_may_say_as_much_as_it_likes() {
    let scratch = Scratch::new("farm-loud");
    list(&scratch, "jobs", "echo first; head -c 300000000 /dev/zero; echo last\n");
    let garland = garland(&scratch);
    let _ = garland.run(&["farm", "run", "jobs"]).with_code(0);
    let said = output(&only_run(&garland), 1);
    assert!(said.len() < 20_000, "{} bytes are kept", said.len());
    assert!(said.starts_with("first\n") && said.ends_with("last\n"));
    assert!(said.contains("bytes are left out here"));
}

#[test]
fn what_no_node_has_is_not_waited_for() {
    let scratch = Scratch::new("farm-large");
    list(
        &scratch,
        "jobs.toml",
        "[[job]]\ncommand = 'true'\nmemory = '1PB'\n[[job]]\ncommand = 'true'\ncores = 5000\n\
         [[job]]\ncommand = 'true'\n",
    );
    let said =
        garland(&scratch).run(&["farm", "run", "jobs.toml", "local[1-2]", "--json"]).with_code(1);
    let outcomes = outcomes(&said);
    assert!(outcomes[0].contains("no node has so much"), "{outcomes:?}");
    assert!(outcomes[1].contains("it needs 5000 cores"), "{outcomes:?}");
    assert_eq!(outcomes[2], r#"{"exit":0}"#);
}

#[test]
fn what_is_no_list_is_refused_before_anything_runs() {
    let scratch = Scratch::new("farm-refused");
    list(&scratch, "empty", "# nothing\n");
    list(&scratch, "bad.toml", "[[job]]\ncommand = 'true'\ncoers = 2\n");
    let refused: [(&[&str], &str); 8] = [
        (&["empty"], "there are no jobs in it"),
        (&["bad.toml"], "coers"),
        (&["missing"], "reading the jobs missing"),
        (&[], "there are no jobs"),
        (&["a", "b", "--", "true"], "can't be in one run"),
        (&["--", "cat", "{in}", ":::", "missing"], "missing isn't there"),
        (&["--engine", "agents", "--", "true"], "needs to be told its nodes"),
        (&["--data", "stage", "--", "true"], "have its files already"),
    ];
    for (words, why) in refused {
        let said = garland(&scratch).run(&[&["farm", "run"], words].concat()).with_code(2);
        assert!(said.err.contains(why), "{words:?}: {}", said.err);
    }
}

#[test]
fn an_engine_that_is_not_installed_is_named() {
    let scratch = Scratch::new("farm-no-engine");
    list(&scratch, "jobs", "true\n");
    for (engine, why) in [("slurm", "starting sinfo"), ("parallel", "GNU parallel isn't installed")]
    {
        let garland = garland(&scratch);
        let mut command = garland.command(&["farm", "run", "jobs", "n1", "--engine", engine]);
        let output = command.env("PATH", scratch.folder()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(why), "{said}");
    }
}
