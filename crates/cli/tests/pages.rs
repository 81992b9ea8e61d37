//! The commands of the README and of the tutorial, run as they stand there, print what stands there, but for figures.
//! The nodes `n01` to `n04` are agents of this machine, and three of them stand for twenty.

use std::fs;
use std::path::Path;
use std::process::Command;

use garland_testkit::{Garland, Scratch, random_file};

const GARLAND: &str = env!("CARGO_BIN_EXE_garland");

/// Longer than a stall of the injected disk is far apart, and short enough for any machine.
const MODEL: u64 = 48 << 20;

/// A command of a page and the lines that it prints there.
struct Example {
    command: String,
    printed: Vec<String>,
}

/// The commands in the page's blocks of kind `console`.
fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push(Example { command: command.to_owned(), printed: Vec::new() });
        } else if inside && let Some(last) = found.last_mut() {
            last.printed.push(line.to_owned());
        }
    }
    found
}

/// The page with nodes of this machine instead of those that a login reaches.
fn here(page: &str) -> String {
    let names = [
        ("n[01-20]", "local[1-3]"),
        ("n[01-04]", "local[1-4]"),
        ("n[01-02]", "local[1-2]"),
        ("n02", "local2"),
    ];
    names.iter().fold(page.to_owned(), |page, (there, here)| page.replace(there, here))
}

/// The words of a line that any run prints alike: no figures, no units and no names of runs.
fn words(line: &str) -> Vec<&str> {
    const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "min", "B", "KiB", "MiB", "GiB"];
    let words = line.split_whitespace();
    let is_unit = |word: &str| UNITS.contains(&word.trim_end_matches([',', ';', ')']));
    let plain = |word: &&str| word.chars().any(char::is_alphabetic) && !is_unit(word);
    let words = words.filter(plain).filter(|word| !word.contains("/s") && !is_figure(word));
    // Whether a line goes on depends on the run.
    words.map(|word| word.trim_end_matches([',', ';'])).collect()
}

fn is_figure(word: &str) -> bool {
    word.trim_start_matches('(').starts_with(|c: char| c.is_ascii_digit())
}

/// Whether the words of `wanted` are in `line`, in this order, with any others between them.
fn has(line: &str, wanted: &str) -> bool {
    let mut words_there = words(line).into_iter();
    words(wanted).into_iter().all(|word| words_there.any(|there| there == word))
}

/// Each printed line of the page is one of the output, in this order; `...` stands for any lines.
#[track_caller]
fn assert_printed(example: &Example, output: &str) {
    let mut lines = output.lines();
    for wanted in example.printed.iter().filter(|line| *line != "..." && !line.is_empty()) {
        let found = lines.any(|line| has(line, wanted));
        assert!(found, "{}: no line like `{wanted}` in\n{output}", example.command);
    }
}

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// Runs the examples one after the other in a shell of the user's.
#[track_caller]
fn follow(scratch: &Scratch, examples: &[Example]) {
    let garland = Garland::new(GARLAND, scratch);
    let folder = Path::new(GARLAND).parent().unwrap().display();
    let path = format!("{folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    for example in examples {
        let command = &example.command;
        let mut shell = Command::new("timeout");
        let as_user = garland.command::<&str>(&[]);
        shell.args(["-k", "5", "120", "bash", "-c", command]).current_dir(scratch.folder());
        shell.env_clear().envs(as_user.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.env("PATH", &path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}: {}\n{said}\n{printed}", output.status);
        assert_printed(example, &printed);
    }
    scratch.assert_nothing_left();
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let examples = examples(&here(&page("README.md")));
    assert!(examples.len() > 12, "the page has examples");
    let scratch = Scratch::new("readme");
    random_file(&scratch.path("model.bin"), MODEL, 1);
    for name in ["data/a.o", "data/b", "one.wav", "two.wav"] {
        fs::create_dir_all(scratch.path("data")).unwrap();
        random_file(&scratch.path(name), 10_000, 2);
    }
    follow(&scratch, &examples);
}

/// The tutorial has its commands one a line, indented. A smaller file is enough.
#[test]
fn the_tutorial_can_be_followed() {
    let page = page("docs/tutorial.md").replace("256M", "48M").replace("100000000", "20000000");
    let commands = page.lines().filter_map(|line| line.strip_prefix("    "));
    let example = |command: &str| Example { command: command.to_owned(), printed: Vec::new() };
    let examples: Vec<Example> = commands.map(example).collect();
    assert!(examples.len() > 18, "the page has commands");
    follow(&Scratch::new("tutorial"), &examples);
}

#[test]
fn another_output_is_noticed() {
    let printed = vec!["ok      n[01-04]".to_owned(), "rate    1.0 MB/s stream".to_owned()];
    let example = Example { command: String::new(), printed };
    assert_printed(&example, "note    x\nok      n[01-04]\nrate    3.14 GB/s (3 Gbit/s) stream\n");
    let wrong = ["ok      n[01-03]\nrate 1 stream", "rate 1 stream\nok      n[01-04]"];
    for output in wrong {
        let checked = std::panic::catch_unwind(|| assert_printed(&example, output));
        assert!(checked.is_err(), "{output}");
    }
}
