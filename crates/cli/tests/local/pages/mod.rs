//! The first hour: the commands of the README and of the tutorial, run as they stand there on a
//! machine that has only what these pages name, print what stands there, but for figures. The nodes
//! `n01` to `n04` are agents of this machine, and three of them stand for twenty.

use std::fs;
use std::path::Path;
use std::process::Command;

use garland_testkit::{Scratch, chore, random_file};

const GARLAND: &str = env!("CARGO_BIN_EXE_garland");

/// Makes a machine with nothing but programs.
const CLEAN_ROOT: &str = include_str!("clean_root.sh");

/// Every Linux has these, and the first ones are in the commands of the pages. README.md and the
/// tutorial name iproute2; fuse3 is only for mounts.
const PROGRAMS: &str = "cksum dd head hostname ls mkdir sha256sum tar uname ip tc bash sh cat chmod cp cut date env id \
    mktemp mount mv rm rmdir seq sleep stat timeout tr umount uniq";

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
        ("    make demo\n", "```console\n$ garland demo\n```\n"),
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
        // What took no time is not in the line: on a busy machine the last node may be ready after
        // the first byte has come to the others.
        let shorter = wanted.replace("first byte", "");
        let found = lines.any(|line| has(line, wanted) || has(line, &shorter));
        assert!(found, "{}: no line like `{wanted}` in\n{output}", example.command);
    }
}

fn read_page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// Runs the examples one after the other on a machine where the shell command `install` has put
/// Garland below `$root`, and prints how long the first copy took to be there.
#[track_caller]
fn follow(scratch: &Scratch, examples: &[Example], install: &str) {
    let said = scratch.path("said");
    fs::create_dir(&said).unwrap();
    let file = |at: usize, kind: &str| said.join(format!("{at:02}.sh{kind}"));
    for (at, example) in examples.iter().enumerate() {
        fs::write(file(at, ""), &example.command).unwrap();
    }
    let mut machine = Command::new("unshare");
    machine.args(["--mount", "--pid", "--net", "--fork", "--kill-child", "bash", "-c", CLEAN_ROOT]);
    machine
        .arg("clean_root.sh")
        .arg(scratch.folder())
        .arg(install)
        .args(PROGRAMS.split_whitespace());
    machine.env_clear().env("HOME", "/root").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    let output = machine.output().unwrap();
    let text =
        |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let trouble =
        format!("{}{}", String::from_utf8_lossy(&output.stderr), text(&said.join("trouble")));
    assert!(output.status.success(), "{trouble}");
    let mut first_copy = None;
    for (at, example) in examples.iter().enumerate() {
        let command = &example.command;
        let printed = text(&file(at, ".out"));
        let end = text(&file(at, ".end"));
        let end: Vec<f64> = end.split_whitespace().map(|number| number.parse().unwrap()).collect();
        let [code, start, now] = end[..] else { panic!("{command} was not run: {trouble}") };
        assert!(code == 0.0, "{command}: {code}\n{}\n{printed}", text(&file(at, ".err")));
        assert_printed(example, &printed);
        if command.starts_with("garland cp") || command == "garland demo" {
            first_copy.get_or_insert((command, now - start));
        }
    }
    let (command, seconds) = first_copy.expect("the page copies");
    println!("{seconds:.1} s to the end of the first copy, `{command}`");
    let left = fs::read_to_string(said.join("left")).expect("all commands were run");
    assert_eq!(left.trim(), "", "processes that the commands left");
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let commands = examples(&here(&read_page("README.md")));
    assert!(commands.len() > 12, "the page has examples");
    let scratch = Scratch::new("readme");
    let work = scratch.path("work");
    fs::create_dir_all(work.join("data")).unwrap();
    random_file(&work.join("model.bin"), MODEL, 1);
    for name in ["data/a.o", "data/b", "one.wav", "two.wav"] {
        random_file(&work.join(name), 10_000, 2);
    }
    let program = scratch.path("garland");
    let folder = scratch.path("packages");
    let stripped = Command::new("strip").arg("-o").arg(&program).arg(GARLAND).status();
    assert!(stripped.unwrap().success());
    let package =
        chore(&[Path::new("deb"), "--binary".as_ref(), &program, "--into".as_ref(), &folder]);
    let install = format!(
        "mkdir -p \"$root\"/var/lib/dpkg/info \"$root\"/var/lib/dpkg/updates; \
         dpkg --root=\"$root\" --log=/dev/null --install {} > /dev/null",
        package.display()
    );
    follow(&scratch, &commands, &install);
}

/// The tutorial has its commands one a line, indented. A smaller file is enough.
#[test]
fn the_tutorial_can_be_followed() {
    let page =
        read_page("docs/tutorial.md").replace("256M", "48M").replace("100000000", "20000000");
    let commands = page.lines().filter_map(|line| line.strip_prefix("    "));
    let example = |command: &str| Example { command: command.to_owned(), printed: Vec::new() };
    let examples: Vec<Example> = commands.map(example).collect();
    assert!(examples.len() > 18, "the page has commands");
    let scratch = Scratch::new("tutorial");
    fs::create_dir(scratch.path("work")).unwrap();
    follow(&scratch, &examples, &format!("cp {GARLAND} \"$root\"/usr/bin/"));
}

#[test]
fn what_make_is_told_to_do_exists() {
    let makefile = read_page("Makefile");
    for name in ["README.md", "docs/tutorial.md", "docs/deploy.md", "docs/scripts.md"] {
        let page = read_page(name);
        for line in page.lines().filter_map(|line| line.strip_prefix("    make ")) {
            let target = line.split_whitespace().next().unwrap();
            assert!(makefile.contains(&format!("\n{target}:\n")), "{name}: make {target}");
        }
    }
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
