//! What a copy shows on a terminal while it runs: `script` is the terminal.

use std::path::PathBuf;
use std::process::Command;

use garland_testkit::{Garland, RunOutput, Running, Scratch, Wire};

use crate::copy::{assert_copied, garland_in, locals, source};

/// Goes to the place of the first line and erases all from there on.
const ERASE: &str = "\x1b[J";

/// Runs a copy on a terminal of `columns` and `rows`; what the terminal got.
#[track_caller]
fn on_terminal(garland: &Garland<'_>, columns: u16, rows: u16, arguments: &[&str]) -> RunOutput {
    let inner = garland.command(&[&["cp", "--local-root", "roots"], arguments].concat());
    let words = [inner.get_program()].into_iter().chain(inner.get_args());
    let quoted: Vec<String> =
        words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"))).collect();
    let line = format!("stty cols {columns} rows {rows}; exec {}", quoted.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().env("TERM", "xterm");
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = inner.get_current_dir() {
        command.current_dir(folder);
    }
    Running::start(command).end().with_code(0)
}

/// The drawings of lines, one after the other, and what is left when they are gone.
fn drawings(said: &RunOutput) -> (Vec<Vec<&str>>, &str) {
    let mut parts: Vec<&str> = said.out.split(ERASE).collect();
    let left = parts.pop().expect("a split has a part");
    let drawn = parts.iter().map(|part| part.split("\r\n").map(without_moves).collect());
    (drawn.collect(), left)
}

fn without_moves(line: &str) -> &str {
    line.split('\r').next_back().and_then(|line| line.split('\x1b').next()).unwrap_or("")
}

/// Over a second long, whatever the machine.
fn slow(scratch: &Scratch) -> Garland<'_> {
    garland_in(scratch).over(Wire::slow(100))
}

#[test]
fn nodes_rate_and_time_left_until_the_table_stands_alone() {
    let scratch = Scratch::new("terminal");
    let from = source(&scratch, 20 << 20);
    let said = on_terminal(&slow(&scratch), 80, 24, &["source.bin", "local[1-2]:/x"]);
    let (drawn, left) = drawings(&said);
    assert!(left.starts_with("20.00 MiB to 2 of 2 nodes in "), "{left:?}");
    let last = drawn.last().expect("lines were drawn");
    let [one, two, every, ""] = &last[..] else { panic!("{last:?}") };
    assert!(one.starts_with("local1 ") && two.starts_with("local2 "), "{last:?}");
    assert!(every.starts_with("every node "), "{last:?}");
    let shows = |what: &str| drawn.iter().flatten().any(|line| line.contains(what));
    assert!(shows(" s left  ") && shows("MB/s") && shows("of 20.00 MiB"), "{drawn:?}");
    assert!(drawn.iter().flatten().all(|line| line.chars().count() < 80), "{drawn:?}");
    assert_copied(&scratch, locals(2), "x", &from);
    scratch.assert_nothing_left();
}

#[test]
fn a_small_terminal_has_short_lines_and_few() {
    let scratch = Scratch::new("small-terminal");
    let _ = source(&scratch, 20 << 20);
    let said = on_terminal(&slow(&scratch), 30, 4, &["source.bin", "local[1-4]:/x"]);
    let (drawn, left) = drawings(&said);
    assert!(left.starts_with("20.00 MiB to 4 of 4 nodes in "), "{left:?}");
    assert!(drawn.iter().flatten().any(|line| line.starts_with("4 nodes: ")), "{drawn:?}");
    assert!(drawn.iter().all(|lines| lines.len() <= 3), "{drawn:?}");
    assert!(drawn.iter().flatten().all(|line| line.chars().count() < 30), "{drawn:?}");
    scratch.assert_nothing_left();
}

/// Every copy waited for a thread that slept for 100 ms. The quickest of several counts: others use
/// this machine, too.
#[test]
fn a_copy_on_a_terminal_ends_when_it_is_over() {
    let scratch = Scratch::new("teardown-terminal");
    std::fs::write(scratch.path("three"), "abc").expect("room for three bytes");
    let garland = garland_in(&scratch);
    for _ in 0..12 {
        let said = on_terminal(&garland, 80, 24, &["--no-fsync", "three", "local1:/three"]);
        assert!(said.out.contains("3 B to 1 of 1 nodes in "), "{:?}", said.out);
    }
    let after_start = |run: PathBuf| {
        let result = std::fs::read(run.join("result.json")).expect("a result");
        let result: serde_json::Value = serde_json::from_slice(&result).expect("an object");
        let phases = result["phases"].as_array().expect("phases").iter();
        let later =
            phases.filter(|phase| phase["name"] != "set-up" && phase["name"] != "comparison");
        later.map(|phase| phase["ns"].as_u64().expect("nanoseconds")).sum::<u64>()
    };
    let least = garland.runs().into_iter().map(after_start).min();
    assert!(least.is_some_and(|ns| ns < 60_000_000), "{least:?} ns");
    scratch.assert_nothing_left();
}

#[test]
fn quiet_shows_nothing() {
    let scratch = Scratch::new("quiet-terminal");
    let _ = source(&scratch, 20 << 20);
    let said = on_terminal(&slow(&scratch), 80, 24, &["-q", "source.bin", "local1:/x"]);
    assert_eq!((&*said.out, said.code), ("", 0));
    let garland = garland_in(&scratch);
    // What was asked for, and what failed, is told all the same.
    let words = ["-q", "--digest=b3", "--whole", "source.bin", "local1:/x"];
    let said = garland.cp(&words).with_code(0);
    assert!(said.out.ends_with("  /x\n") && said.out.lines().count() == 1, "{}", said.out);
    assert_eq!(said.err, "");
    let result = garland.cp(&["-q", "--json", "source.bin", "local1:/x"]).with_code(0).json();
    assert_eq!(result["schema"], "garland.cp/2");
    std::fs::create_dir(scratch.root("local1").join("d")).expect("it can be made");
    let words = ["-q", "--min-ok", "1", "source.bin", "local[1-2]:/d"];
    std::fs::create_dir_all(scratch.root("local1").join("d/source.bin")).expect("it can be made");
    let said = garland.cp(&words).with_code(0);
    assert!(said.out.contains("failed  local1: "), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn what_a_terminal_would_obey_is_shown_and_json_has_it_exactly() {
    let scratch = Scratch::new("obeyed");
    let _ = source(&scratch, 10);
    let garland = garland_in(&scratch);
    // A folder that isn't there: the node's reason has its name.
    let name = "no\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}1m\u{202e}ne";
    let to = format!("local1:/{name}/x");
    let said = garland.cp(&["source.bin", &to]).with_code(3);
    let whole = format!("{}{}", said.out, said.err);
    let shown = "no\\x1b[2J\\x1b]0;title\\x07\\u{9b}1m\\u{202e}ne";
    assert!(whole.contains(shown), "{whole:?}");
    let obeyed = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!whole.contains(obeyed), "{whole:?}");
    let said = garland.cp(&["--json", "source.bin", &to]).with_code(3);
    assert!(!said.out.contains(obeyed), "{:?}", said.out);
    let result = said.json();
    // A reason is for people; the path itself is among the words of the command.
    let reason = result["nodes"][0]["reason"].as_str().expect("there is a reason");
    assert!(reason.contains(shown), "{reason:?}");
    let words = result["command"].as_array().expect("there is a command");
    assert!(words.iter().any(|word| word == to.as_str()), "{words:?}");
}
