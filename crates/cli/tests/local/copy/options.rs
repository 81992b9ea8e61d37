//! Options: where they stand, and that none is ignored.

use garland_testkit::Scratch;

use crate::copy::{garland_in, names_in, source};

#[test]
fn options_stand_anywhere_among_the_paths() {
    let scratch = Scratch::new("options-anywhere");
    let _ = source(&scratch, 1000);
    std::fs::write(scratch.path("other"), b"other").expect("it can be written");
    let garland = garland_in(&scratch);
    for (words, name) in [
        (&["source.bin", "--no-fsync", "local1:/between"][..], "between"),
        (&["source.bin", "local1:/behind", "--rails", "2", "--no-fsync"], "behind"),
        (&["-r", "source.bin", "--no-encrypt", "other", "local1:/many", "--no-fsync"], "many"),
        (&["--no-fsync", "--", "source.bin", "local1:/dashes"], "dashes"),
    ] {
        let _ = garland.cp(words).with_code(0);
        assert!(names_in(&scratch, "local1", "").contains(&name.to_owned()), "{words:?}");
    }
    assert_eq!(names_in(&scratch, "local1", "many"), ["other", "source.bin"]);
    scratch.assert_nothing_left();
}

/// Each pair is a kind of copy, and options that do nothing there.
#[test]
fn an_option_that_does_nothing_is_refused() {
    let scratch = Scratch::new("options-refused");
    let _ = source(&scratch, 1000);
    std::fs::create_dir_all(scratch.root("local1").join("d")).expect("it can be made");
    std::fs::write(scratch.root("local1").join("x"), b"x").expect("it can be written");
    let garland = garland_in(&scratch);
    let slow = ["--on-slow=wait", "--slow-below=30%", "--shape=tree", "--shared"];
    let joining = ["--verify", "--bwlimit=1MB/s", "--dry-run", "--min-ok=1", "--from=lab:n2"];
    let cases: [(&[&str], &[&str]); 5] = [
        (&["local1:/x", "here"], &slow),
        (&["-r", "local1:/d", "here"], &slow[..3]),
        (&["--join", "last", "local2"], &joining),
        (&["-", "local1:/y"], &["--on-slow=fail", "--shape=tree", "-p"]),
        (&["--stripe", "source.bin", "local[1-2]:/y"], &["--on-slow=fail", "--force-device"]),
    ];
    for (words, options) in cases {
        for option in options {
            let said = garland.cp(&[words, &[*option]].concat()).with_code(2);
            let name = option.split('=').next().unwrap_or_default();
            let name = if name == "-p" { "--preserve" } else { name };
            let line = format!("error: {name} has no effect ");
            assert!(said.err.starts_with(&line), "{words:?} {option}: {}", said.err);
        }
    }
    assert_eq!(names_in(&scratch, "local1", ""), ["d", "x"]);
    assert!(!scratch.path("here").exists());
    scratch.assert_nothing_left();
}

#[test]
fn an_empty_source_is_refused() {
    let scratch = Scratch::new("options-empty");
    let said = garland_in(&scratch).cp(&["", "local1:/x"]).with_code(2);
    assert!(said.err.contains("the path of a SOURCE is empty"), "{}", said.err);
}

#[test]
fn more_nodes_than_there_are_cannot_be_wanted() {
    let scratch = Scratch::new("options-min-ok");
    let _ = source(&scratch, 1000);
    let garland = garland_in(&scratch);
    for words in [["source.bin", "local[1-3]:/x"], ["local[1-3]:/x", "here"]] {
        let said = garland.cp(&[&["--min-ok", "9"], &words[..]].concat()).with_code(2);
        let line = "error: --min-ok 9 cannot be reached: there are 3 nodes\n";
        assert!(said.err.starts_with(line), "{}", said.err);
    }
    assert_eq!(names_in(&scratch, "local1", ""), Vec::<String>::new());
    scratch.assert_nothing_left();
}
