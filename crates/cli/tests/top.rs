//! `garland top`: what nodes say of themselves, as lines and on a terminal.

use std::thread;

use garland_testkit::{Garland, Scratch, random_file};

fn garland(scratch: &Scratch) -> Garland<'_> {
    Garland::new(env!("CARGO_BIN_EXE_garland"), scratch)
}

/// A line's figures behind its node's name.
fn figures(line: &str) -> Vec<f64> {
    let words = line.split_whitespace().skip(1).take(7);
    words.map(|word| word.parse().unwrap_or_else(|_| panic!("{word} in {line}"))).collect()
}

#[test]
fn every_node_has_a_line_for_every_look() {
    let scratch = Scratch::new("top-lines");
    let said = garland(&scratch).run(&["top", "local[1-2]", "-n", "2"]).with_code(0);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 4, "{}", said.out);
    for name in ["local1", "local2"] {
        let own: Vec<_> = lines.iter().filter(|line| line.starts_with(name)).collect();
        assert_eq!(own.len(), 2, "{}", said.out);
        for line in own {
            let told = figures(line);
            assert!(told.len() == 7 && told.iter().all(|one| *one >= 0.0), "{line}");
            assert!(told[5] <= 100.0 && told[6] <= 100.0, "{line}");
        }
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_labs_nodes_show_what_a_copy_moves() {
    let scratch = Scratch::new("top-lab");
    let garland = garland(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "2", "--rate", "20mbit"]).with_code(0);
    random_file(&scratch.path("file"), 12 << 20, 7);
    let said = thread::scope(|scope| {
        let copy = scope.spawn(|| garland.run(&["cp", "--no-fsync", "file", "lab:n[1-2]:/x"]));
        let said = garland.run(&["top", "lab:n[1-2]", "-n", "4"]).with_code(0);
        let _ = copy.join().expect("the copy ends").with_code(0);
        said
    });
    let _ = garland.run(&["lab", "down"]).with_code(0);
    // 20 Mbit/s are 2.5 MB/s, frames and all; n1 passes on what it gets. Bridges and the host's own
    // NICs aren't these nodes'.
    let most = |name: &str, at: usize| {
        let own = said.out.lines().filter(|line| line.starts_with(name)).map(figures);
        own.map(|told| told[at]).fold(0.0, f64::max)
    };
    for (name, at) in [("lab:n1", 0), ("lab:n1", 1), ("lab:n2", 0)] {
        let rate = most(name, at);
        assert!((0.5..3.5).contains(&rate), "{name} {at}: {rate}\n{}", said.out);
    }
    assert!(most("lab:n2", 1) < 0.5, "n2 is the last\n{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn what_cannot_be_is_said() {
    let scratch = Scratch::new("top-refused");
    let garland = garland(&scratch);
    let said = garland.run(&["top", "local1", "--json"]).with_code(2);
    assert!(said.err.contains("no result object"), "{}", said.err);
    let said = garland.run(&["top", "local1", "--interval", "0"]).with_code(2);
    assert!(said.err.contains("--interval"), "{}", said.err);
}
