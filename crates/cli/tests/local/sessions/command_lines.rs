//! Command lines: which are kept, and what is said of those that cannot be what was meant.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use garland_testkit::Scratch;

use crate::garland_in;

#[test]
fn each_run_is_listed_with_its_command_line_which_nobody_else_can_read() {
    let scratch = Scratch::new("run-words");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["exec", "local1", "--", "true", "--password=swordfish"]).with_code(0);
    let list = garland.run(&["runs"]).with_code(0).out;
    let line = list.lines().nth(1).expect("one run");
    assert!(line.ends_with("exec local1 -- true --password=swordfish"), "{list}");
    let shown = garland.run(&["runs", "show"]).with_code(0).out;
    assert!(shown.contains("command exec local1 -- true --password=swordfish\n"), "{shown}");
    // The program and its arguments, as in all results.
    let stored = garland.run(&["--json", "runs"]).with_code(0).json();
    let words = stored["runs"][0]["command"].as_array().expect("a list");
    assert_eq!(words.len(), 6, "{stored}");
    // Whoever else may read a file with the argument must be kept out by a directory above it.
    let runs = garland.runs();
    let folder = runs.first().expect("one run");
    for file in std::fs::read_dir(folder).expect("the run has a directory").flatten() {
        let mode = file.metadata().expect("nobody removes it").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.path().display());
    }
    let mode = std::fs::metadata(folder).expect("the run has a directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    scratch.assert_nothing_left();
}

#[test]
fn a_list_that_the_shell_has_replaced_by_names_of_files_is_told() {
    let scratch = Scratch::new("expanded");
    for node in ["local1", "local2", "local3"] {
        std::fs::create_dir(scratch.path(node)).expect("it can be made");
    }
    let garland = garland_in(&scratch);
    let advice =
        "quote node lists, or the shell replaces them by names of files here: 'local[1-3]'";
    let said = garland.run(&["exec", "local1", "local2", "local3", "--", "true"]).with_code(3);
    assert!(said.err.starts_with(&format!("note: {advice}\n")), "{}", said.err);
    let said = garland.run(&["up", "local1", "local2", "local3"]).with_code(2);
    assert!(said.err.contains(&format!("tip: {advice}\n")), "{}", said.err);
    let said = garland.run(&["exec", "local1", "--", "true", "local2"]).with_code(0);
    assert_eq!(said.err, "");
}

#[test]
fn options_of_rsync_are_told_with_what_to_write() {
    let scratch = Scratch::new("foreign");
    let refused =
        |option: &str| garland_in(&scratch).run(&["cp", option, "x", "n1:"]).with_code(2).err;
    for option in ["-z", "-avz"] {
        let text = refused(option);
        assert!(text.contains("'-z' found\n\n  tip: rsync's -z is --compress=auto here"), "{text}");
    }
    let told = [
        ("-aP", "leave it out: progress is shown on a terminal"),
        ("--progress", "progress is shown on a terminal in any case"),
        ("--whole-file", "rsync's -W is --whole here"),
        ("-e", "ssh has your own configuration"),
        ("--stats", "each copy prints its rate and times"),
        ("-j4", "the nodes pass the data on to each other"),
        ("-u", "only what differs is sent"),
        ("--sparse", "holes are kept"),
    ];
    for (option, advice) in told {
        let text = refused(option);
        let tips: Vec<&str> = text.lines().filter(|line| line.contains("tip: ")).collect();
        assert!(tips.len() == 1 && tips[0].contains(advice), "{option}: {text}");
    }
    let text = garland_in(&scratch).run(&["exec", "-w", "n1", "true"]).with_code(2).err;
    assert!(text.contains("tip: the nodes come first: garland exec"), "{text}");
    let text = garland_in(&scratch).run(&["doctor", "n1", "n2"]).with_code(2).err;
    assert!(text.contains("tip: several nodes are one list: n1,n2 or 'n[1-2]'"), "{text}");
    for (command, advice) in [("run", "garland exec NODES"), ("copy", "garland cp SOURCE")] {
        let text = garland_in(&scratch).run(&[command, "x"]).with_code(2).err;
        let tips: Vec<&str> = text.lines().filter(|line| line.contains("tip: ")).collect();
        assert!(tips.len() == 1 && tips[0].contains(advice), "{command}: {text}");
        assert!(!text.contains("similar"), "{text}");
    }
    let text = refused("-avh");
    assert!(text.contains("-h in '-avh' is the help of cp"), "{text}");
    let text = refused("-R");
    assert!(text.contains("tip: directories are copied with -r; for rsync's -R"), "{text}");
}

#[test]
fn a_farm_whose_command_lacks_its_separator_is_told_so() {
    let scratch = Scratch::new("separator");
    let words = ["farm", "run", "local[1-2]", "echo", "{}", ":::", "a", "b"];
    let text = garland_in(&scratch).run(&words).with_code(2).err;
    let tip = "tip: a command comes after --: garland farm run NODES -- COMMAND ::: INPUT..";
    assert!(text.contains(tip), "{text}");
}

#[test]
fn a_farm_takes_one_list_of_inputs_and_says_how_to_combine_two() {
    let scratch = Scratch::new("combined");
    for separator in [":::", "::::"] {
        let words = ["farm", "run", "local1", "--", "echo", "{}", ":::", "a", separator, "b"];
        let text = garland_in(&scratch).run(&words).with_code(2).err;
        assert!(text.contains("a command has one ::: or, for files, one ::::"), "{text}");
        assert!(text.contains("-- sh -c 'COMMAND {}' ::: {a,b}' '{c,d}"), "{text}");
    }
}

#[test]
fn a_list_of_nodes_in_place_of_jobs_is_told_how_to_give_jobs() {
    let scratch = Scratch::new("no-jobs");
    let garland = garland_in(&scratch);
    let text = garland.run(&["farm", "run", "local[1-2]"]).with_code(2).err;
    assert!(text.contains("no jobs are given: local[1-2] is no file of jobs"), "{text}");
    assert!(
        text.contains("hint: jobs from standard input: garland farm run - 'local[1-2]'"),
        "{text}"
    );
    assert!(text.contains("garland farm run 'local[1-2]' -- COMMAND ::: INPUT.."), "{text}");
    let text = garland.run(&["farm", "run", "local[1-2]", "missing"]).with_code(2).err;
    assert!(text.contains("cannot read missing: no such file"), "{text}");
}

#[test]
fn inputs_of_a_command_with_braces_come_from_a_pipe_or_file() {
    let scratch = Scratch::new("piped-inputs");
    let list = scratch.path("list");
    std::fs::write(&list, "b\nc\n").expect("it is written");
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    std::io::Write::write_all(&mut writer, b"a\n\nz\n").expect("it has room");
    drop(writer);
    let file = std::fs::File::open(&list).expect("the file exists");
    for (input, inputs) in [(Stdio::from(reader), "a\nz\n"), (Stdio::from(file), "b\nc\n")] {
        let garland = garland_in(&scratch);
        let mut command = garland.command(&["farm", "run", "-k", "local1", "--", "echo", "{}"]);
        let command = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let said = command.spawn().expect("it starts").wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&said.stderr);
        assert!(text.starts_with("note    inputs are read from standard input"), "{text}");
        assert_eq!(String::from_utf8_lossy(&said.stdout), inputs, "{text}");
        assert_eq!(said.status.code(), Some(0), "{text}");
    }
}

#[test]
fn a_run_is_found_by_the_end_of_its_name() {
    let scratch = Scratch::new("run-end");
    let garland = garland_in(&scratch);
    std::fs::write(scratch.path("f"), b"content").expect("it is written");
    let result = garland.run(&["cp", "--json", "f", "local1:/f"]).with_code(0).json();
    let run = result["run"].as_str().expect("it has a name");
    let end = run.rsplit('-').next().expect("it has an end");
    let said = garland.run(&["explain", end]).with_code(0).out;
    assert!(said.starts_with(run), "{said}");
}
