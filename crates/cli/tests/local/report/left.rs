//! Reports of several runs, and of what crashes leave.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use garland_testkit::Scratch;
use serde_json::json;

use crate::report::{copied, embedded, garland_in, reported};

#[test]
fn several_runs_stand_side_by_side_with_a_forecast_or_why_there_is_none() {
    let scratch = Scratch::new("report-several");
    let garland = garland_in(&scratch);
    let runs: Vec<_> = [1, 2, 3].map(|nodes| copied(&scratch, &garland, nodes)).to_vec();
    let names: Vec<&str> = runs.iter().map(|run| run["run"].as_str().unwrap()).collect();
    let file = reported(&scratch, &garland, &names);
    let data = embedded(&fs::read_to_string(&file).unwrap());
    for (shown, kept) in data["runs"].as_array().unwrap().iter().zip(&runs) {
        assert_eq!(shown["name"], kept["run"]);
        assert_eq!(shown["result"]["elapsed_ns"], kept["elapsed_ns"]);
        assert!(shown["explained"]["rows"].as_array().is_some_and(|rows| !rows.is_empty()));
        // The head is one of them.
        let nodes = shown["timeline"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), kept["nodes"].as_array().unwrap().len() + 1);
    }
    let said = garland.run(&[&["report", "--json"], &names[..]].concat()).with_code(0).json();
    let why = said["warnings"].to_string();
    assert!(said["forecast"] == true || why.contains("no forecast"), "{said}");
}

#[test]
fn what_a_crash_leaves_is_told_and_no_reason_for_no_report() {
    let scratch = Scratch::new("report-left");
    let garland = garland_in(&scratch);
    let whole = copied(&scratch, &garland, 2);
    let run = garland.runs().pop().unwrap();
    let name = whole["run"].as_str().unwrap();
    let notes = |words: &[&str]| {
        let said = garland.run(&[&["report", "--json"], words].concat()).with_code(0).json();
        said["warnings"].to_string()
    };
    fs::write(run.join("trace/local1.trace"), b"no trace").unwrap();
    let _ = notes(&[name]);
    fs::remove_dir_all(run.join("trace")).unwrap();
    assert_eq!(notes(&[name]), "[]");
    fs::write(run.join("result.json"), b"{\"schema\": \"garl").unwrap();
    assert!(notes(&[name]).contains("cannot read its result"));
    fs::remove_file(run.join("result.json")).unwrap();
    assert!(notes(&[name]).contains("cannot read its result"));
    // Without a result it isn't the last one that can be told of.
    let said = garland.run(&["report"]).with_code(2);
    assert!(said.err.contains("no run has a result"), "{}", said.err);
    let said = garland.run(&["report", "nothing-like-it"]).with_code(2);
    assert!(said.err.contains("run nothing-like-it does not exist"), "{}", said.err);
    fs::write(scratch.path("x.json"), json!({ "schema": "garland.cp/2" }).to_string()).unwrap();
    let said = garland.run(&["report", name, "--forecast", "x.json"]).with_code(2);
    assert!(said.err.contains("is not a forecast"), "{}", said.err);
    let said = garland.run(&["report", name, "-o", "no/such/folder.html"]).with_code(3);
    assert!(said.err.contains("folder.html"), "{}", said.err);
}

#[test]
fn a_report_is_opened_in_the_browser_that_there_is_or_it_says_where_it_is() {
    let scratch = Scratch::new("report-browser");
    let garland = garland_in(&scratch);
    let _ = copied(&scratch, &garland, 1);
    let shell = scratch.path("browser");
    fs::write(&shell, "#!/bin/sh\ncp \"$1\" shown.html\necho \"$1\" > shown\nexit $2\n").unwrap();
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    // The first program of the list cannot be started.
    let list = format!("/no/browser:{}", shell.display());
    let opened = |browsers: &str, path: &str| {
        let mut command = garland.command(&["report", "--open"]);
        let output = command.env("BROWSER", browsers).env("PATH", path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!opened(&list, "/usr/bin:/bin").contains("cannot open"));
    let report = scratch.path("report.html");
    let shown = fs::read_to_string(scratch.path("shown")).unwrap();
    assert_eq!(Path::new(shown.trim_end()), report);
    assert_eq!(fs::read(scratch.path("shown.html")).unwrap(), fs::read(&report).unwrap());
    let place = format!("cannot open {} in a browser: ", report.display());
    let said = opened("", "/no/programs");
    assert!(said.contains(&place), "{said}");
    // Words follow the program, and a browser that fails may have shown the report: no other one
    // is started.
    fs::remove_file(scratch.path("shown")).unwrap();
    let other = scratch.path("other");
    fs::copy(&shell, &other).unwrap();
    fs::write(&other, "#!/bin/sh\necho > twice\n").unwrap();
    let said = opened(&format!("{} %s 3:{}", shell.display(), other.display()), "/usr/bin:/bin");
    assert!(said.contains(&place) && said.contains("exit status: 3"), "{said}");
    assert!(scratch.path("shown").exists() && !scratch.path("twice").exists());
}
