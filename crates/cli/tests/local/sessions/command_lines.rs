//! Command lines: which are kept, and what is said of those that cannot be what was meant.

use std::os::unix::fs::PermissionsExt;

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
