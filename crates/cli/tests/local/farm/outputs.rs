//! The output of jobs on the screen, while they run and when they have ended.

use std::fs::{self, File};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use garland_sys::clock;
use garland_testkit::{Running, Scratch, until};

use super::{garland_in, list, only_run, output};

/// A job that waits until the file `name` is in the directory in which the run was started.
fn wait_for(scratch: &Scratch, name: &str) -> String {
    format!("until test -e {}; do sleep 0.02; done", scratch.path(name).display())
}

#[test]
fn what_jobs_print_and_what_failed_is_seen_in_a_few_lines() {
    let scratch = Scratch::new("farm-brief");
    list(&scratch, "jobs", "echo one\necho why >&2; exit 3\nexit 3\nno-such-program\ncd /\n");
    let said = garland_in(&scratch).run(&["farm", "run", "jobs", "local1"]).with_code(1);
    assert_eq!(said.out, "one\n");
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(lines[0], "why", "{}", said.err);
    assert!(lines[1].starts_with("2 of 5 jobs done on 1 node in "), "{}", said.err);
    assert_eq!(
        lines[2],
        "failed  jobs 2 (echo why >&2; exit 3) on local1, 3 (exit 3) on local1: exit code 3"
    );
    assert!(lines[3].starts_with("failed  job 4 (no-such-program) on local1: cannot start"));
    assert!(lines[3].ends_with("is written as sh -c 'no-such-program ..'"), "{}", said.err);
    assert_eq!(lines.len(), 7, "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn an_interrupted_run_tells_the_time_that_it_took() {
    let scratch = Scratch::new("farm-interrupted-time");
    let begun = scratch.path("begun").display().to_string();
    list(&scratch, "jobs", &format!("true\ntouch {begun}; exec sleep 1000\n"));
    let garland = garland_in(&scratch);
    let farm = garland.start(&["farm", "run", "jobs", "local[1-2]", "--json"]);
    until("the job that does not end", || scratch.path("begun").exists());
    let seen_ns = clock::now_ns();
    thread::sleep(Duration::from_millis(300));
    // The run has lasted longer, since it began before the job was seen.
    let at_least = (clock::now_ns() - seen_ns) as f64 / 1e9;
    farm.process().interrupt();
    let result = farm.end().with_code(130).json();
    assert!(result["total"].as_f64().expect("a time") >= at_least, "{}", result["total"]);
    scratch.assert_nothing_left();
}

#[test]
fn inputs_are_lines_of_standard_input_and_of_files() {
    let scratch = Scratch::new("farm-inputs");
    list(&scratch, "names", "one word\n\ntwo\n");
    let garland = garland_in(&scratch);
    let words = ["farm", "run", "--keep-order", "local1", "--", "echo", "<{}>", "::::"];
    let read = |files: &[&str]| garland.run(&[&words[..], files].concat());
    assert_eq!(read(&["names"]).with_code(0).out, "<one word>\n<two>\n");
    list(&scratch, "given", "three\nfour");
    let given = File::open(scratch.path("given")).expect("the file exists");
    let command = garland.command(&[&words[..], &["-", "names"]].concat());
    let said = Running::start_reading(command, given).end();
    assert_eq!(said.with_code(0).out, "<three>\n<four>\n<one word>\n<two>\n");
    list(&scratch, "empty", "\n");
    for (file, why) in [("empty", "have no inputs"), ("missing", "cannot read missing")] {
        let said = read(&[file]).with_code(2);
        assert!(said.err.contains(why), "{}", said.err);
    }
    // Nodes and jobs in the other order.
    list(&scratch, "jobs", "echo here\n");
    let said = garland.run(&["farm", "run", "-q", "local1", "jobs"]).with_code(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("here\n", ""));
    scratch.assert_nothing_left();
}

#[test]
fn lines_of_jobs_come_while_they_run() {
    let scratch = Scratch::new("farm-lines");
    let go = wait_for(&scratch, "go");
    list(&scratch, "jobs", &format!("echo a1; {go}; echo a2\necho b1; {go}; echo b2 >&2\n"));
    for nodes in [&[][..], &["local[1-2]"]] {
        let words = [&["farm", "run", "--line-buffer", "--slots", "2", "jobs"], nodes].concat();
        let farm = garland_in(&scratch).start(&words);
        farm.await_out("a line of each", |out| out.lines().count() == 2);
        File::create(scratch.path("go")).expect("room for a file");
        let said = farm.end().with_code(0);
        let mut lines: Vec<&str> = said.out.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["a1", "a2", "b1"]);
        assert!(said.err.starts_with("b2\n2 of 2 jobs done"), "{}", said.err);
        fs::remove_file(scratch.path("go")).expect("the file exists");
    }
    scratch.assert_nothing_left();
}

#[test]
fn the_whole_output_of_a_job_is_printed_when_it_ends() {
    let scratch = Scratch::new("farm-group");
    let go = wait_for(&scratch, "go");
    let done = scratch.path("done").display().to_string();
    let long = "seq 30000; echo to err >&2";
    list(&scratch, "jobs", &format!("echo a1; touch {done}; {go}; echo a2\n{long}\nprintf end\n"));
    let garland = garland_in(&scratch);
    let farm = garland.start(&["farm", "run", "--group", "--slots", "1", "jobs", "local[1-2]"]);
    let numbers: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    let wanted = format!("{numbers}end");
    farm.await_out("the jobs that do not wait", |out| out.len() == wanted.len());
    until("the first line of the job that waits", || scratch.path("done").exists());
    File::create(scratch.path("go")).expect("room for a file");
    let said = farm.end().with_code(0);
    assert!(said.out == format!("{wanted}a1\na2\n"), "{} bytes", said.out.len());
    let run = only_run(&garland);
    let kept = format!("output  {}/output\n", run.display());
    assert!(
        said.err.starts_with("to err\n3 of 3 jobs done") && said.err.ends_with(&kept),
        "{}",
        said.err
    );
    assert_eq!(output(&run, 1), "a1\na2\n");
    scratch.assert_nothing_left();
}

#[test]
fn outputs_are_in_the_order_of_the_list_and_tagged_if_the_user_says_so() {
    let scratch = Scratch::new("farm-order");
    let go = wait_for(&scratch, "go");
    let go2 = wait_for(&scratch, "go2");
    let b = format!("echo b; touch {}", scratch.path("b").display());
    list(&scratch, "jobs", &format!("echo a1; {go}; echo a2\n{b}\n{go2}; echo c; exit 1\n"));
    let garland = garland_in(&scratch);
    let words = ["farm", "run", "--keep-order", "--slots", "3", "jobs", "local1"];
    let farm = garland.start(&words);
    farm.await_out("the first job's line", |out| out == "a1\n");
    until("the second job ran", || scratch.path("b").exists());
    File::create(scratch.path("go")).expect("room for a file");
    farm.await_out("what waited", |out| out == "a1\na2\nb\n");
    File::create(scratch.path("go2")).expect("room for a file");
    assert_eq!(farm.end().with_code(1).out, "a1\na2\nb\nc\n");
    // Only the third job is left, whose output waits for none.
    let said = garland.run(&["farm", "run", "--resume", "--tag", "-k"]).with_code(1);
    assert_eq!(said.out, format!("{go2}; echo c; exit 1\tc\n"));
    let said = garland.run(&["farm", "run", "--tag", "--", "printf", "%s!", "{in}", ":::", "go"]);
    assert_eq!(said.with_code(0).out, "go\tgo!\n");
    scratch.assert_nothing_left();
}

#[test]
fn only_the_last_try_of_a_job_is_printed_together() {
    let scratch = Scratch::new("farm-group-tries");
    let once = scratch.path("once").display().to_string();
    let first =
        format!("test -e {once} && echo second || {{ echo first; touch {once}; exit 1; }}\n");
    list(&scratch, "jobs", &first);
    let words = ["farm", "run", "--retries", "1", "jobs", "local1"];
    let said = garland_in(&scratch).run(&[&words[..], &["--group"]].concat()).with_code(0);
    assert_eq!(said.out, "second\n");
    fs::remove_file(&once).expect("the file exists");
    let said = garland_in(&scratch).run(&[&words[..], &["--line-buffer"]].concat()).with_code(0);
    assert_eq!(said.out, "first\nsecond\n");
    scratch.assert_nothing_left();
}

#[test]
fn output_is_kept_as_well_and_its_directory_named() {
    let scratch = Scratch::new("farm-kept");
    list(&scratch, "jobs", "echo hello\n");
    let garland = garland_in(&scratch);
    let said = garland.run(&["farm", "run", "jobs"]).with_code(0);
    let run = only_run(&garland);
    assert_eq!((said.out.as_str(), output(&run, 1).as_str()), ("hello\n", "hello\n"));
    assert!(said.err.ends_with(&format!("output  {}/output\n", run.display())), "{}", said.err);
    for (words, why) in [
        (&["--group", "--json"][..], "with --json"),
        (&["--line-buffer", "--engine", "slurm"], "the engine slurm does not pass on"),
        (&["--tag", "--engine", "slurm"], "the engine slurm does not pass on"),
        (&["-k", "--group"], "cannot be used with"),
        (&["--group", "--line-buffer"], "cannot be used with"),
    ] {
        let said = garland.run(&[&["farm", "run", "jobs"], words].concat()).with_code(2);
        assert!(said.err.contains(why), "{}", said.err);
    }
    assert_eq!(only_run(&garland), run, "what is refused begins no run");
    scratch.assert_nothing_left();
}

#[test]
fn output_that_cannot_be_written_is_told_and_the_jobs_are_done() {
    let scratch = Scratch::new("farm-full");
    list(&scratch, "jobs", "seq 200000\necho b\n");
    let garland = garland_in(&scratch);
    for mode in ["--group", "--line-buffer", "-k"] {
        let mut command = garland.command(&["farm", "run", mode, "--slots", "1", "jobs"]);
        let full = File::options().write(true).open("/dev/full").expect("the device exists");
        let said = command.stdin(Stdio::null()).stdout(full).output().expect("garland starts");
        let err = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(1), "{mode}: {err}");
        let first = "error: cannot write the output of job 1: no space left on device\n";
        assert!(err.contains(first) && err.contains("2 of 2 jobs done"), "{mode}: {err}");
        let all = "error: cannot write all output of 2 of the jobs, beginning with job 1\n";
        assert!(err.contains(all), "{mode}: {err}");
    }
    scratch.assert_nothing_left();
}
