//! Runs in which nothing goes wrong.

use std::fs;

use garland_testkit::Scratch;

use super::{assert_sound, garland_in, list, only_run, output, records_in};

#[test]
fn a_list_runs_on_this_machine() {
    let scratch = Scratch::new("farm-list");
    list(
        &scratch,
        "jobs",
        "# two of a kind\necho hello\n\necho $((6*7)) >answer; echo to err >&2\n",
    );
    let garland = garland_in(&scratch);
    let said = garland.run(&["farm", "run", "jobs", "--json"]).with_code(0);
    let records = records_in(&said);
    assert_eq!(records.len(), 2);
    records.iter().for_each(|record| assert_sound(record, "local"));
    assert_eq!(fs::read_to_string(scratch.path("answer")).unwrap(), "42\n");
    let run = only_run(&garland);
    assert_eq!((output(&run, 1), output(&run, 2)), ("hello\n".into(), "to err\n".into()));
    let kept = fs::read_to_string(run.join("records.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 2);
    scratch.assert_nothing_left();
}

#[test]
fn many_short_jobs_each_run_once_on_all_nodes() {
    let scratch = Scratch::new("farm-many");
    let mark = scratch.path("marks");
    fs::create_dir(&mark).unwrap();
    let line = |number: u32| format!("echo >>'{}/{number}'\n", mark.display());
    list(&scratch, "jobs", &(1..=400).map(line).collect::<String>());
    for placement in ["pull", "turns"] {
        let words = ["farm", "run", "jobs", "local[1-3]", "--slots", "1", "--json", "--placement"];
        let said = garland_in(&scratch).run(&[&words[..], &[placement]].concat()).with_code(0);
        let records = records_in(&said);
        assert_eq!(records.len(), 400);
        for node in ["local1", "local2", "local3"] {
            let count = records.iter().filter(|record| record["node"] == node).count();
            assert!(count > 20, "{node} had {count} jobs by {placement}");
        }
    }
    for number in 1..=400 {
        let text = fs::read_to_string(mark.join(number.to_string())).unwrap();
        assert_eq!(text.lines().count(), 2, "job {number}");
    }
}

#[test]
fn all_at_once_is_all_at_once() {
    let scratch = Scratch::new("farm-at-once");
    // Each waits until all others are there, too.
    let meet = "echo >in-$GARLAND_JOB; until [ $(ls in-* | wc -l) = 12 ]; do sleep 0.02; done\n";
    list(&scratch, "jobs", &meet.repeat(12));
    let words = ["farm", "run", "jobs", "--all-at-once", "--timeout", "60s", "--json"];
    let said = garland_in(&scratch).run(&words).with_code(0);
    assert_eq!(records_in(&said).len(), 12);
}

#[test]
fn a_list_in_toml_says_what_jobs_need() {
    let scratch = Scratch::new("farm-toml");
    fs::write(scratch.path("a"), "text").unwrap();
    list(
        &scratch,
        "jobs.toml",
        "[[job]]\ncommand = 'tr a-z A-Z <{in} >{out}'\ninputs = ['a']\noutputs = ['b']\nmemory = '1MB'\n\
         [[job]]\ncommand = ['sleep', '0']\nname = 'nap'\ncores = 1\n",
    );
    let said = garland_in(&scratch).run(&["farm", "run", "jobs.toml", "--json"]).with_code(0);
    let records = records_in(&said);
    assert_eq!((&records[0]["name"], &records[1]["name"]), (&"a".into(), &"nap".into()));
    assert_eq!((&records[0]["bytes_in"], &records[0]["bytes_out"]), (&4.into(), &4.into()));
    assert_eq!(fs::read_to_string(scratch.path("b")).unwrap(), "TEXT");
}

#[test]
fn an_output_is_in_a_directory_of_the_users_own_until_it_is_complete() {
    let scratch = Scratch::new("farm-outputs");
    list(
        &scratch,
        "jobs.toml",
        "[[job]]\ncommand = 'stat -c %a $(dirname {out}) >{out}'\noutputs = ['b']\n\
         [[job]]\ncommand = 'echo part >{out}; exit 3'\noutputs = ['failed']\n\
         [[job]]\ncommand = 'mkdir -p $(dirname {out}); echo whole >{out}'\noutputs = ['new/c']\n",
    );
    let said = garland_in(&scratch).run(&["farm", "run", "jobs.toml", "--json"]).with_code(1);
    assert_eq!(records_in(&said).len(), 3);
    assert_eq!(fs::read_to_string(scratch.path("b")).unwrap(), "700\n");
    assert_eq!(fs::read_to_string(scratch.path("new/c")).unwrap(), "whole\n");
    for folder in ["", "new"] {
        let names = fs::read_dir(scratch.path(folder)).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        let is_left = |name: &std::ffi::OsString| {
            name.as_encoded_bytes().starts_with(b".garland-") || name == "failed"
        };
        assert!(!names.iter().any(is_left), "{names:?}");
    }
}
