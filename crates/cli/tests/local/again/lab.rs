//! What crosses the wires of a lab, by the kernel's own count.

use garland_testkit::{Garland, Scratch, random_file};

use crate::again::{LENGTH, change, garland_in, source};

/// Bytes that the lab's media have carried.
fn carried(garland: &Garland<'_>) -> u64 {
    let status = garland.run(&["lab", "status", "--json"]).with_code(0).json();
    let media = status["labs"][0]["media"].as_array().expect("a lab has media").clone();
    media.iter().map(|medium| medium["carried"].as_u64().unwrap_or(0)).sum()
}

#[test]
fn what_nodes_have_crosses_no_wire() {
    let scratch = Scratch::new("again-lab");
    let from = source(&scratch, LENGTH);
    let garland = garland_in(&scratch);
    let _ = garland.run(&["lab", "up", "--nodes", "4"]).with_code(0);
    let copies = || {
        let before = carried(&garland);
        let words = ["cp", "--json", "source.bin", "lab:n[1-4]:/x"];
        let result = garland.run(&words).with_code(0).json();
        (carried(&garland) - before, result["already"].as_u64().unwrap())
    };
    let first = copies();
    let second = copies();
    change(&from, LENGTH / 2);
    let third = copies();
    for number in 0..200 {
        let path = scratch.path(format!("t/{}/{number}", number % 5));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        random_file(&path, if number % 40 == 0 { 4 << 20 } else { 2_000 }, number);
    }
    let trees = || {
        let before = carried(&garland);
        let words = ["cp", "--json", "-r", "t", "lab:n[1-4]:/"];
        let result = garland.run(&words).with_code(0).json();
        (carried(&garland) - before, result["sent_bytes"].as_u64().unwrap())
    };
    let whole = trees();
    let nothing = trees();
    let _ = garland.run(&["lab", "down"]).with_code(0);
    // What is sent is the record that ends the tree.
    assert!(nothing.1 < 100 && nothing.0 * 100 < whole.0, "{nothing:?} of {whole:?}");
    assert!(first.0 > 4 * LENGTH && first.1 == 0, "{first:?}");
    assert!(second.0 < 1 << 20 && second.1 == 4 * LENGTH, "{second:?}");
    assert!(third.0 < 4 << 20 && third.1 < 4 * LENGTH, "{third:?}");
    scratch.assert_nothing_left();
}
