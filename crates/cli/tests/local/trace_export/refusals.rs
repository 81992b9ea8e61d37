//! What can't be exported, or only in part, is said in words.

use std::fs;

use garland_testkit::Scratch;

use super::garland_in;
use super::made::run;

#[test]
fn a_run_that_is_not_there() {
    let scratch = Scratch::new("export-no-run");
    let garland = garland_in(&scratch);
    let export = |run: &str| {
        garland.run(&["trace", "export", run, "--format", "csv"]).with_code(2).err.clone()
    };
    assert!(export("last").contains("no run has a trace"), "{}", export("last"));
    let said = export("20070101-000000-cp-0000");
    assert!(said.contains("run 20070101-000000-cp-0000 does not exist"), "{said}");
    assert!(said.contains("runs are stored in"), "{said}");
    fs::create_dir(scratch.path("bare")).unwrap();
    let said = export("./bare");
    assert!(said.contains("run ./bare has no trace"), "{said}");
    fs::create_dir(scratch.path("bare/trace")).unwrap();
    let said = garland.run(&["trace", "export", "./bare", "--format", "csv"]).with_code(3);
    assert!(said.err.contains("no trace in "), "{}", said.err);
}

#[test]
fn traces_of_another_version_cut_short_or_of_something_else() {
    let scratch = Scratch::new("export-broken");
    let traces = run(&scratch);
    let change = |name: &str, how: &dyn Fn(&mut Vec<u8>)| {
        let path = traces.join(name);
        let mut bytes = fs::read(&path).unwrap();
        how(&mut bytes);
        fs::write(&path, bytes).unwrap();
    };
    change("n1.trace", &|bytes| bytes[8] += 1);
    change("n2.trace", &|bytes| bytes.truncate(bytes.len() / 2));
    fs::write(traces.join("n3.trace"), "what is this?").unwrap();
    let garland = garland_in(&scratch);
    let export = || garland.run(&["trace", "export", "./run", "--format", "csv"]);
    let said = export().with_code(1);
    assert!(said.err.contains("n1: the trace has version 2"), "{}", said.err);
    assert!(said.err.contains("ok      n2: "), "{}", said.err);
    assert!(said.err.contains("n3: the file is not a garland trace"), "{}", said.err);
    let of = |node: &str| said.out.lines().filter(|line| line.starts_with(node)).count();
    assert!(of("head,") > 100 && of("n2,") > 50 && of("n1,") == 0);
    for name in ["head.trace", "n2.trace"] {
        change(name, &|bytes| bytes.truncate(12));
    }
    let said = export().with_code(3);
    assert!(said.err.contains("cannot read any trace of run"), "{}", said.err);
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let scratch = Scratch::new("export-target");
    run(&scratch);
    let garland = garland_in(&scratch);
    let words = |file| ["trace", "export", "./run", "--format", "chrome", "-o", file];
    let said = garland.run(&words("missing/out")).with_code(3);
    assert!(said.err.contains("missing/out: no such file or directory"), "{}", said.err);
    let said = garland.run(&words("/dev/full")).with_code(3);
    assert!(said.err.contains("/dev/full: no space left on device"), "{}", said.err);
    fs::write(scratch.path("out"), "old").unwrap();
    let _ = garland.run(&words("out")).with_code(1);
    assert!(fs::metadata(scratch.path("out")).unwrap().len() > 10_000);
    let left = fs::read_dir(scratch.folder()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("tmp")), "{left:?}");
    let said = garland.run(&["trace", "export", "./run", "--format", "csv", "--json"]);
    assert!(said.with_code(2).err.contains("--json"));
}

#[test]
fn the_refusal_of_perfettos_own_format_names_one_that_perfetto_opens() {
    let scratch = Scratch::new("export-perfetto");
    let said = garland_in(&scratch).run(&["trace", "export", "--format", "perfetto"]).with_code(2);
    let hint = "ui.perfetto.dev also opens that of --format chrome";
    assert!(said.err.contains(hint), "{}", said.err);
}
