//! Jobs and lists that can't be, and jobs that behave badly.

use std::fs;

use garland_testkit::Scratch;
use serde_json::json;

use super::{garland_in, list, only_run, outcomes, output, records_in};

#[test]
fn jobs_that_fail_hang_or_are_killed_are_named() {
    let scratch = Scratch::new("farm-fail");
    list(
        &scratch,
        "jobs",
        "true\nexit 3\nsleep 1000 & sleep 1000\nkill -9 $$\nno-such-program x\n",
    );
    let garland = garland_in(&scratch);
    let words =
        ["farm", "run", "jobs", "local[1-2]", "--timeout", "300ms", "--retries", "1", "--json"];
    let said = garland.run(&words).with_code(1);
    let wanted = [
        json!({ "exit": 0 }),
        json!({ "exit": 3 }),
        json!("timeout"),
        json!({ "signal": 9 }),
        json!({ "failed": "cannot start no-such-program: no such file or directory; a command of \
                           the shell is written as sh -c 'no-such-program ..'" }),
    ];
    let records = records_in(&said);
    for (record, wanted) in records.iter().zip(&wanted) {
        assert_eq!(record["outcome"], *wanted);
        assert_eq!(record["tries"], if record["job"] == 1 { 1 } else { 2 }, "{record}");
    }
    let result = said.json();
    assert_eq!((&result["done"], &result["failed"]), (&json!(1), &json!(4)));
    // What a job has started ends with it.
    scratch.assert_nothing_left();
    let shown = fs::read_to_string(only_run(&garland).join("result.json")).unwrap();
    assert!(shown.contains("garland.farm/2"));
}

#[test]
fn people_are_told_which_jobs_failed_and_why() {
    let scratch = Scratch::new("farm-named");
    list(&scratch, "jobs", "true\nexit 3\n");
    let said = garland_in(&scratch).run(&["farm", "run", "jobs", "--analysis"]).with_code(1);
    assert!(said.err.contains("failed  job 2 (exit 3) on "), "{}", said.err);
    assert!(said.err.contains(": exit code 3 (1 try)\n"), "{}", said.err);
    assert!(said.err.contains("1 of 2 jobs done"), "{}", said.err);
}

#[test]
fn what_a_job_that_failed_said_last_is_told() {
    let scratch = Scratch::new("farm-last-words");
    list(
        &scratch,
        "jobs",
        "echo result; echo one >&2; printf 'no \\377 room\\n' >&2; exit 3\necho fine >&2\n\
         echo stuck >&2; sleep 1000\n",
    );
    let words = ["farm", "run", "jobs", "--timeout", "1500ms"];
    for nodes in [&[][..], &["local[1-2]"]] {
        let said =
            garland_in(&scratch).run(&[&words[..], nodes, &["--json"]].concat()).with_code(1);
        let records = records_in(&said);
        let last: Vec<_> = records.iter().map(|record| record["last_words"].clone()).collect();
        assert_eq!(last, [json!(["one", "no \\xff room"]), json!([]), json!(["stuck"])]);
        assert_eq!(said.json()["failures"][0]["last_words"], last[0]);
    }
    let said = garland_in(&scratch).run(&[&words[..], &["--analysis"]].concat()).with_code(1);
    assert!(said.err.contains("exit code 3: one\n"), "in the table: {}", said.err);
    assert!(said.err.contains("(1 try)\n          one\n          no \\xff room\n"), "{}", said.err);
}

/// Bytes of memory that this machine has.
fn all_memory() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").expect("it says");
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:")).expect("it does");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

#[test]
fn jobs_that_have_not_the_memory_together_run_one_after_another() {
    let scratch = Scratch::new("farm-memory");
    // Two of them are more than there is; one isn't.
    let memory = all_memory() / 100 * 55 / 1024;
    let job = format!("[[job]]\ncommand = 'sleep 0.3'\nmemory = '{memory}KiB'\n");
    list(&scratch, "jobs.toml", &job.repeat(3));
    for more in [&[][..], &["--all-at-once"], &["--placement", "turns"], &["--placement", "mosix"]]
    {
        let words = ["farm", "run", "jobs.toml", "--slots", "4", "--json"];
        let said = garland_in(&scratch).run(&[&words[..], more].concat()).with_code(0);
        let mut times: Vec<(f64, f64)> = records_in(&said)
            .iter()
            .map(|record| (record["started"].as_f64().unwrap(), record["ended"].as_f64().unwrap()))
            .collect();
        times.sort_by(|one, two| one.0.total_cmp(&two.0));
        assert!(times.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{more:?}: {times:?}");
    }
}

#[test]
fn a_job_may_say_as_much_as_it_likes() {
    let scratch = Scratch::new("farm-loud");
    list(&scratch, "jobs", "echo first; head -c 300000000 /dev/zero; echo last\n");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["farm", "run", "jobs"]).with_code(0);
    let said = output(&only_run(&garland), 1);
    assert!(said.len() < 20_000, "{} bytes are kept", said.len());
    assert!(said.starts_with("first\n") && said.ends_with("last\n"));
    assert!(said.contains("bytes omitted]"));
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
    let said = garland_in(&scratch)
        .run(&["farm", "run", "jobs.toml", "local[1-2]", "--json"])
        .with_code(1);
    let ends = outcomes(&said);
    assert!(ends[0].contains("no node is large enough"), "{ends:?}");
    assert!(ends[1].contains("needs 5000 cores"), "{ends:?}");
    assert_eq!(ends[2], r#"{"exit":0}"#);
}

#[test]
fn what_is_no_list_is_refused_before_anything_runs() {
    let scratch = Scratch::new("farm-refused");
    list(&scratch, "empty", "# nothing\n");
    list(&scratch, "bad.toml", "[[job]]\ncommand = 'true'\ncoers = 2\n");
    let refused: [(&[&str], &str); 8] = [
        (&["empty"], "the list has no jobs"),
        (&["bad.toml"], "coers"),
        (&["missing"], "cannot read missing"),
        (&[], "no jobs are given"),
        (&["a", "b", "--", "true"], "exclude each other"),
        (&["--", "cat", "{in}", ":::", "missing"], "missing input: missing"),
        (&["--engine", "agents", "--", "true"], "needs a node list"),
        (&["--data", "stage", "--", "true"], "supports only `--data there`"),
    ];
    for (words, why) in refused {
        let said = garland_in(&scratch).run(&[&["farm", "run"], words].concat()).with_code(2);
        assert!(said.err.contains(why), "{words:?}: {}", said.err);
    }
}

#[test]
fn words_after_the_separator_are_files_only_where_they_are_called_inputs() {
    let scratch = Scratch::new("farm-words");
    let said =
        garland_in(&scratch).run(&["farm", "run", "local1", "--", "echo", "{}"]).with_code(0);
    let note =
        "note    {} stays as it is: inputs come after ::: behind the command, or from a pipe";
    assert!(said.err.starts_with(note) && said.out == "{}\n", "{}", said.err);
    for command in [&["echo", "{}"][..], &["echo"]] {
        let words = [&["farm", "run", "-k", "--"], command, &[":::", "3", "1", "2"]].concat();
        let said = garland_in(&scratch).run(&words).with_code(0);
        assert!(said.out.starts_with("3\n1\n2\n"), "{}", said.out);
    }
    let words = ["farm", "run", "--data", "mount", "local1", "--", "echo", ":::", "3"];
    let said = garland_in(&scratch).run(&words).with_code(2);
    assert!(said.err.contains("missing input: 3"), "{}", said.err);
}

#[test]
fn an_engine_that_is_not_installed_is_named() {
    let scratch = Scratch::new("farm-no-engine");
    list(&scratch, "jobs", "true\n");
    let garland = garland_in(&scratch);
    let mut command = garland.command(&["farm", "run", "jobs", "n1", "--engine", "slurm"]);
    let output = command.env("PATH", scratch.folder()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot run sinfo"), "{said}");
}
