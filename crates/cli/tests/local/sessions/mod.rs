//! What people see: help, errors with hints, tables. Times and rates are replaced by signs.
//! Standing agents, also of other releases.

mod command_lines;
mod exec_ends;
mod exec_input;
mod hostile;
mod late_nodes;
mod names;
mod outputs;
mod releases;
mod roles;
mod spool;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_testkit::{Peer, Process, RunOutput, Running, Scratch, random_file, until};

use crate::garland_in;

/// What was said, with its code, and with figures that differ from run to run replaced.
fn shown(said: &RunOutput) -> String {
    let mut text = format!("{}{}", said.out, said.err);
    if let Some(start) = text.find("\nrun     ") {
        let end = text[start + 1..].find('\n').map_or(text.len(), |end| start + 1 + end);
        text.replace_range(start..end, "\nrun     RUN");
    }
    let lines: Vec<String> = text.lines().map(without_phases).map(without_figures).collect();
    format!("{}\n[exit {}]", lines.join("\n"), said.code)
}

/// Phases without length aren't shown, and which these are differs.
fn without_phases(line: &str) -> &str {
    if line.starts_with("time    set-up ") { "time    PHASES" } else { line }
}

/// The lines that tell times and rates, with a sign for each figure and its unit.
fn without_figures(line: &str) -> String {
    const UNITS: [&str; 13] = [
        "ns", "µs", "ms", "s", "min", "B/s", "kB/s", "MB/s", "GB/s", "bit/s", "kbit/s", "Mbit/s",
        "Gbit/s",
    ];
    let words: Vec<&str> = line.split(' ').collect();
    let mut shown: Vec<String> = Vec::new();
    for word in words {
        let bare = word.trim_matches(['(', ')', ',']);
        let number = shown.last().map(|last| last.trim_start_matches('(').to_owned());
        let is_figure = number.is_some_and(|number| number.parse::<f64>().is_ok());
        if is_figure && UNITS.contains(&bare) {
            let last = shown.pop().unwrap_or_default();
            let open = if last.starts_with('(') { "(" } else { "" };
            let unit = if bare.ends_with("/s") { "RATE" } else { "TIME" };
            let close = if word.ends_with(')') { ")" } else { "" };
            shown.push(format!("{open}{unit}{close}"));
        } else {
            shown.push(word.to_owned());
        }
    }
    shown.join(" ")
}

#[test]
fn help() {
    let scratch = Scratch::new("help");
    insta::assert_snapshot!(shown(&garland_in(&scratch).run(&["--help"])), @r"
    Moves files through a cluster at the speed of its slowest wire, and accounts for
    the time that it could not save
    Usage: garland [OPTIONS] <COMMAND>

    Copy and run:
      cp        Copy files and directories to every node, or from nodes
      publish   Give a file or directory a name; names lists, unpublish ends them
      get       Copy the content of a name to nodes, from all that have it
      mount     Mount the files of all nodes below one directory
      up        Start standing agents; down ends, status shows them
      exec      Run a command on every node
      farm      Run many jobs on many nodes

    Measure:
      wires     Measure the network between all pairs of nodes and name faults
      ping      Time small gets, puts and messages between nodes
      disk      Measure the disk under a path on every node
      balance   Find out whether disks or the network limit copies
      doctor    Check what a copy needs of each node

    Understand:
      explain   Show where the time of a copy went, and what would make it faster
      report    Write runs as one HTML file, with timeline and rates
      runs      List, show and remove the runs that commands have stored
      top       Show NICs, disks, copies and jobs of nodes, live
      trace     Export what a copy recorded

    Plan and emulate:
      forecast  Predict what more nodes would gain
      plan      Suggest a plan for a copy
      net       Plan, configure and verify a network
      lab       Emulate a cluster on this machine, without root
      scenario  Run the published experiments that Garland reproduces

    Options:
          --cluster <FILE>  The cluster file [default: your ./cluster.toml]
          --json            One JSON object on standard output instead of tables
      -h, --help            Print help
      -V, --version         Print version
    New here: garland demo. NODES, exit codes, all commands: garland man | man -l -
    [exit 0]
    ");
}

#[test]
fn help_of_cp() {
    let scratch = Scratch::new("help-cp");
    insta::assert_snapshot!(shown(&garland_in(&scratch).run(&["cp", "-h"])));
}

#[test]
fn the_help_of_the_program_and_the_short_one_of_cp_fit_on_a_terminal() {
    let scratch = Scratch::new("help-fits");
    for words in [&["--help"][..], &["-h"], &["cp", "-h"]] {
        let mut command = garland_in(&scratch).command(words);
        let output = command.env("COLUMNS", "80").output().expect("it runs");
        let help = String::from_utf8(output.stdout).expect("a text");
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(help.lines().count() <= 40 && widest <= Some(80), "{widest:?}\n{help}");
    }
}

#[test]
fn a_command_for_nodes_needs_no_dashes_before_it() {
    let scratch = Scratch::new("exec");
    for words in
        [&["exec", "local1", "echo", "-n", "a"][..], &["exec", "local1", "--", "echo", "-n", "a"]]
    {
        let said = garland_in(&scratch).run(words).with_code(0).out;
        assert_eq!(said, "a");
    }
}

#[test]
fn a_line_for_the_shell_of_each_node_is_run_by_it() {
    let scratch = Scratch::new("exec-line");
    let garland = garland_in(&scratch);
    for words in [
        &["exec", "-s", "local1", "echo a; echo b | tr b c"][..],
        &["exec", "-s", "local1", "echo", "a;", "echo", "c"],
    ] {
        assert_eq!(garland.run(words).with_code(0).out, "a\nc\n", "{words:?}");
    }
    let said = garland.run(&["exec", "local1", "echo a; echo b"]).with_code(3);
    let wanted = "cannot start echo a; echo b: no such file or directory; -s passes it to a shell";
    assert!(said.err.contains(wanted), "{}", said.err);
}

#[test]
fn a_standing_agent_with_another_root_is_not_taken_for_the_one_that_was_asked_for() {
    let scratch = Scratch::new("other-root");
    let garland = garland_in(&scratch);
    std::fs::create_dir(scratch.path("tree")).expect("it can be made");
    std::fs::write(scratch.path("tree/a"), "a").expect("there is room");
    let _ = garland.run(&["up", "--local-root", "roots", "local1"]).with_code(0);
    let precious = scratch.path("roots/local1/to/precious");
    std::fs::create_dir_all(precious.parent().expect("it has one")).expect("it can be made");
    std::fs::write(&precious, "mine").expect("there is room");
    let copy = |root: &str, code: i32| {
        let words = ["cp", "-a", "--delete", "--local-root", root, "tree/", "local1:/to"];
        garland.run(&words).with_code(code)
    };
    let refused = copy("others", 3);
    let why = "not that of --local-root: run `garland down local1` first, or omit the option";
    assert!(refused.out.contains(why), "{}", refused.out);
    assert!(precious.exists());
    let refused = garland.run(&["up", "--local-root", "others", "local1"]).with_code(3);
    assert!(refused.out.contains(why), "{}", refused.out);
    // The same one is, also by another name.
    std::os::unix::fs::symlink("roots", scratch.path("link")).expect("it can be made");
    let _ = copy("link", 0);
    assert!(!precious.exists() && scratch.path("roots/local1/to/a").exists());
    let _ = garland.run(&["down", "local1"]).with_code(0);
}

#[test]
fn agents_show_in_ps_as_what_they_are() {
    let scratch = Scratch::new("ps");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["up", "local1"]).with_code(0);
    // The agent is the parent of what it runs.
    let shown = garland.run(&[
        "exec",
        "-s",
        "local1",
        "tr '\\0' ' ' < /proc/$PPID/cmdline; cat /proc/$PPID/comm",
    ]);
    let shown = shown.with_code(0).out;
    let _ = garland.run(&["down", "local1"]).with_code(0);
    assert!(
        shown.contains("garland agent --controller ") && shown.ends_with("garland\n"),
        "{shown}"
    );
}

#[test]
fn runs_are_listed_shown_and_removed() {
    let scratch = Scratch::new("runs");
    let garland = garland_in(&scratch);
    assert!(garland.run(&["runs"]).with_code(0).out.starts_with("no runs yet"));
    std::fs::write(scratch.path("file"), "x").expect("it can be written");
    assert_eq!(garland.run(&["cp", "file", "local[1-2]:/file"]).code, 0);
    let list = garland.run(&["runs"]).with_code(0).out;
    let line = list.lines().nth(1).expect("one run");
    assert!(line.contains("2 ok") && line.ends_with("cp file local[1-2]:/file"), "{list}");
    let shown = garland.run(&["runs", "show"]).with_code(0).out;
    assert!(shown.contains("ok      local[1-2]") && shown.contains("garland explain"), "{shown}");
    assert_eq!(garland.run(&["runs", "rm", "last", "nope"]).code, 2);
    assert!(garland.run(&["runs", "rm", "last"]).with_code(0).out.starts_with("removed "));
    assert!(garland.run(&["runs"]).with_code(0).out.starts_with("no runs yet"));
}

#[test]
fn nothing_to_do_is_wrong_usage() {
    let scratch = Scratch::new("nothing");
    assert_eq!(garland_in(&scratch).run::<&str>(&[]).code, 2);
    insta::assert_snapshot!(shown(&garland_in(&scratch).run(&["copy"])), @r"
    error: unrecognized subcommand 'copy'

      tip: garland cp SOURCE NODES:PATH copies to nodes

    Usage: garland [OPTIONS] <COMMAND>

    For more information, try '--help'.
    [exit 2]
    ");
    // A tip names an option, and not its hidden alias --slow.
    let mistyped =
        garland_in(&scratch).run(&["cp", "--slo", "fail", "x", "n1:/x"]).with_code(2).err;
    assert!(mistyped.contains("similar argument exists: '--on-slow'"), "{mistyped}");
    insta::assert_snapshot!(shown(&garland_in(&scratch).run(&["cp", "x"])), @r"
    error: a copy needs a SOURCE and a DESTINATION, and only x was given
    hint: such as garland cp FILE 'n[01-20]:/path'
    [exit 2]
    ");
}

#[test]
fn a_copy() {
    let scratch = Scratch::new("copy");
    random_file(&scratch.path("f"), 2_000_000, 1);
    insta::assert_snapshot!(shown(&garland_in(&scratch).cp(&["f", "local[1-3]:/data/"])), @r"
    1.91 MiB to 3 of 3 nodes in TIME
    rate    RATE (RATE) whole command, RATE (RATE) stream
    time    PHASES
    ok      local[1-3]
    run     RUN
    [exit 0]
    ");
}

#[test]
fn a_copy_that_some_nodes_could_not_take() {
    let scratch = Scratch::new("some");
    random_file(&scratch.path("f"), 100_000, 1);
    for node in ["local2", "local3", "local5"] {
        std::fs::create_dir_all(scratch.root(node).join("x/f")).expect("it can be made");
    }
    insta::assert_snapshot!(shown(&garland_in(&scratch).cp(&["f", "local[1-5]:/x"])), @r"
    97.66 KiB to 2 of 5 nodes in TIME
    time    PHASES
    ok      local[1,4]
    failed  local[2-3,5]: cannot replace /x/f: it is a directory
    run     RUN
    [exit 1]
    ");
}

#[test]
fn a_copy_that_no_node_could_take() {
    let scratch = Scratch::new("none");
    random_file(&scratch.path("f"), 100_000, 1);
    insta::assert_snapshot!(shown(&garland_in(&scratch).cp(&["f", "local[1-3]:/no/such"])), @r"
    97.66 KiB to 0 of 3 nodes in TIME
    time    PHASES
    failed  local[1-3]: cannot open the directory /no: no such file or directory; a copy to /no/ makes it
    run     RUN
    [exit 3]
    ");
}

#[test]
fn a_copy_of_nothing() {
    let scratch = Scratch::new("empty");
    random_file(&scratch.path("f"), 0, 1);
    insta::assert_snapshot!(shown(&garland_in(&scratch).cp(&["f", "local1:/x"])), @r"
    0 B to 1 of 1 nodes in TIME
    time    PHASES
    ok      local1
    run     RUN
    [exit 0]
    ");
}

#[test]
fn a_locale_without_utf8_gets_signs_of_ascii() {
    let scratch = Scratch::new("ascii");
    random_file(&scratch.path("f"), 10, 1);
    let roots = scratch.path("roots").display().to_string();
    let mut command =
        garland_in(&scratch).command(&["cp", "--local-root", &roots, "f", "local1:/x"]);
    command.env("LC_ALL", "C");
    let said = Running::start_reading(command, Stdio::null()).end().with_code(0);
    assert!(said.out.is_ascii() && said.out.contains(" - "), "{}", said.out);
}

#[test]
fn a_state_folder_that_cannot_be() {
    let scratch = Scratch::new("state");
    std::fs::write(scratch.state(), b"a file").expect("it can be written");
    random_file(&scratch.path("f"), 10, 1);
    let said = garland_in(&scratch).cp(&["f", "local1:/x"]).with_code(3);
    let folder = scratch.folder().display().to_string();
    let user = format!("garland-{}", rustix::process::getuid().as_raw());
    let text = shown(&said).replace(&folder, "SCRATCH").replace(&user, "garland-USER");
    insta::assert_snapshot!(text, @r"
    error: cannot create the state directory SCRATCH/state: file exists
    hint: have the state elsewhere: export GARLAND_STATE=/var/tmp/garland-USER
    [exit 3]
    ");
}

#[test]
fn the_manual_names_every_command() {
    let scratch = Scratch::new("manual");
    let garland = garland_in(&scratch);
    let manual = garland.run(&["man"]).with_code(0).out;
    for command in ["cp", "exec", "up", "down", "status", "lab", "scenario", "demo"] {
        assert!(manual.contains(&format!("garland\\-{command}(1)")), "{command} in the manual");
        let page = garland.run(&["man", command]).with_code(0).out;
        assert!(page.contains(&format!(".TH garland-{command} 1")), "{page}");
    }
    let _ = garland.run(&["man", "--directory", "pages"]).with_code(0);
    for page in ["garland.1", "garland-cp.1", "garland-lab-up.1", "garland-scenario-run.1"] {
        assert!(scratch.path("pages").join(page).exists(), "{page}");
    }
    insta::assert_snapshot!(shown(&garland.run(&["man", "lab", "upp"])), @r"
    error: there is no command `garland lab upp`
    hint: `garland lab --help` lists the commands
    [exit 2]
    ");
}

#[test]
fn shells_offer_commands_runs_nodes_and_topologies() {
    let scratch = Scratch::new("completion");
    let garland = garland_in(&scratch);
    std::fs::write(
        scratch.path("cluster.toml"),
        "version = 1\n[[nodes]]\nnames = \"n[01-02]\"\n[groups]\ngpu = \"n01\"\n",
    )
    .expect("room for a file");
    let run = garland.run(&["exec", "--json", "local1", "true"]).with_code(0).json()["run"].take();
    let run = run.as_str().expect("a name");
    let script = garland.run(&["completions", "bash"]).with_code(0).out;
    // As readline calls it after Tab; each word is offered on a line.
    let asked = |words: &str| {
        let text = format!(
            "{script}\nCOMP_WORDS=(garland {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _clap_complete_garland garland \"${{COMP_WORDS[COMP_CWORD]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let program = Path::new(env!("CARGO_BIN_EXE_garland"));
        let path = std::env::var("PATH").expect("a search path");
        let mut bash = garland.command(&["-c", &text]);
        bash.env("PATH", format!("{}:{path}", program.parent().expect("a directory").display()));
        let mut real = std::process::Command::new("bash");
        real.args(bash.get_args()).current_dir(scratch.folder()).env_clear();
        real.envs(bash.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let said = real.output().expect("bash runs");
        String::from_utf8(said.stdout).expect("text").lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for command in ["cp", "exec", "up", "down", "status", "lab", "scenario", "demo"] {
        assert!(asked(&command[..1]).contains(&command.to_owned()), "{command}");
    }
    for command in ["report", "runs rm", "runs show"] {
        assert_eq!(asked(&format!("{command} ''"))[..2], ["last", run], "{command}");
    }
    assert_eq!(asked("report 2"), [run]);
    // Only a copy has traces, and can be started again.
    std::fs::write(scratch.path("file"), "x").expect("room for a file");
    let copy = ["cp", "--json", "--local-root", "roots", "file", "local1:/to"];
    let copy = garland.run(&copy).with_code(0).json()["run"].take();
    for command in ["explain", "cp --resume"] {
        assert_eq!(asked(&format!("{command} 2")), [copy.as_str().expect("a name")], "{command}");
    }
    assert_eq!(asked("cp --join ''")[..1], ["last"]);
    assert_eq!(asked("exec ''")[..4], ["@all", "@gpu", "n01", "n02"]);
    assert_eq!(asked("cp cl"), ["cluster.toml"]);
    assert_eq!(asked("cp cluster.toml n01"), ["n01:"]);
    assert_eq!(asked("lab up hub"), ["hub10"]);
    let zsh = garland.run(&["completions", "zsh"]).with_code(0).out;
    assert!(zsh.starts_with("#compdef garland\n"), "{zsh}");
    assert!(zsh.contains(r#" "${(Q)PREFIX}" "#) && !zsh.contains(r#"${words[@]}"#), "{zsh}");
    assert!(garland.run(&["completions", "fish"]).with_code(0).out.contains("--command garland"));
}

#[test]
fn former_names_of_options_are_accepted_and_not_listed() {
    let scratch = Scratch::new("former-names");
    let garland = garland_in(&scratch);
    for (command, now, former) in [
        (&["farm", "run"][..], "--slurm-dir", "--shared"),
        (&["ping"], "--per-second", "--rate"),
        (&["wires"], "--base", "--baseline"),
        (&["forecast"], "--shape", "--plan"),
        (&["forecast"], "--bytes-in", "--in"),
        (&["forecast"], "--bytes-out", "--out"),
        (&["net", "config"], "--output-dir", "--output"),
        (&["net", "size"], "--card-slots", "--slots"),
    ] {
        let help = garland.run(&[command, &["--help"]].concat()).with_code(0).out;
        let lists = |name: &str| {
            help.lines().any(|line| line.trim_start().starts_with(&format!("{name} <")))
        };
        assert!(lists(now) && !lists(former), "{help}");
        // Without its value it is refused by its name, which is known.
        let said = garland.run(&[command, &[former]].concat()).with_code(2).err;
        assert!(said.contains(&format!("'{now} <")), "{former}: {said}");
    }
    for words in [["top", "local1", "--interval", "0.5s"], ["up", "local1", "--idle", "1d"]] {
        let said = garland.run(&words).with_code(2).err;
        assert!(said.contains(words[2]), "{said}");
    }
}

#[test]
fn a_lab_is_named_by_an_option_or_the_environment_and_a_run_knows_its_own() {
    let scratch = Scratch::new("lab-name");
    let garland = garland_in(&scratch);
    std::fs::write(scratch.path("jobs"), "true\n").expect("room for a list");
    let not_there = |said: &RunOutput, name: &str| {
        let hint = format!(
            "lab {name} is not running; to start a lab of 4 nodes with this name: garland lab up --lab {name} --nodes 4"
        );
        assert!(said.err.contains(&hint), "{}", said.err);
    };
    let commands: [&[&str]; 7] = [
        &["cp", "jobs", "lab:n1:/x"],
        &["exec", "lab:n1", "--", "true"],
        &["up", "lab:n1"],
        &["down", "lab:n1"],
        &["status", "lab:n1"],
        &["farm", "run", "jobs", "lab:n1"],
        &["lab", "exec", "n1", "--", "true"],
    ];
    for words in commands {
        let mut command = garland.command(words);
        command.env("GARLAND_LAB", "other");
        not_there(&Running::start(command).end().with_code(3), "other");
    }
    not_there(&garland.run(&["farm", "run", "--resume"]).with_code(3), "other");
    not_there(&garland.run(&["farm", "run", "--resume", "--lab", "third"]).with_code(3), "third");
    // The hint can be pasted.
    let words = ["lab", "up", "--lab", "other", "--nodes", "4", "--dry-run"];
    let _ = garland.run(&words).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn agents_that_stay() {
    let scratch = Scratch::new("stay");
    let garland = garland_in(&scratch);
    let say = |arguments: &[&str]| {
        let folder = scratch.folder().display().to_string();
        let text = shown(&garland.run(arguments)).replace(&folder, "SCRATCH");
        let is_alike = |line: &&str| !line.starts_with("logs") && !line.starts_with("agents");
        text.lines().filter(is_alike).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(say(&["status"]), @r"
    no standing agents; to start some: garland up NODES
    [exit 3]
    ");
    insta::assert_snapshot!(say(&["up", "local[1-3]"]), @r"
    up      local[1-3]
    links   2 between neighbours
    [exit 0]
    ");
    insta::assert_snapshot!(say(&["status"]), @r"
    up      local[1-3]
    links   2 between neighbours
    [exit 0]
    ");
    insta::assert_snapshot!(say(&["status", "local[3-4]"]), @r"
    up      local3
    skipped local4: no standing agent
    [exit 1]
    ");
    insta::assert_snapshot!(say(&["down", "local[1-4]"]), @r"
    down    local[1-3]
    skipped local4: no agent was up
    [exit 0]
    ");
    insta::assert_snapshot!(say(&["status", "local1"]), @r"
    skipped local1: no standing agent
    [exit 3]
    ");
    let _ = garland.run(&["up", "local[1-2]"]).with_code(0);
    insta::assert_snapshot!(say(&["down"]), @r"
    down    local[1-2]
    [exit 0]
    ");
    insta::assert_snapshot!(say(&["down"]), @r"
    no standing agents; to start some: garland up NODES
    [exit 0]
    ");
    scratch.assert_nothing_left();
}

#[test]
fn an_agent_that_stays_and_is_killed() {
    let scratch = Scratch::new("stay-killed");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["up", "local[1-2]"]).with_code(0);
    let killed = scratch.processes().into_iter().find(|process| process.command.contains("local2"));
    killed.expect("its agent runs").kill();
    let said = garland.run(&["status", "--json"]).with_code(1);
    let result: serde_json::Value = serde_json::from_str(&said.out).expect("it is JSON");
    assert_eq!(result["nodes"][0]["verdict"], "ok");
    assert_eq!(result["nodes"][1]["verdict"], "dead");
    // One alone that is gone isn't none.
    let _ = garland.run(&["status", "local2"]).with_code(1);
    let said = garland.run(&["down", "local[1-2]"]).with_code(0);
    assert_eq!(said.out, "down    local1\nskipped local2: no agent was up\n");
    scratch.assert_nothing_left();
}

/// The file with the record of the agent that stays for `node`.
fn record_file(scratch: &Scratch, node: &str) -> PathBuf {
    let mut hosts = std::fs::read_dir(scratch.state()).expect("the state is there").flatten();
    let host = hosts.next().expect("the state of a host");
    host.path().join(format!("standing/{node}.json"))
}

/// The port of the agent that stays for `node`, as its record says.
fn recorded_port(scratch: &Scratch, node: &str) -> Option<u16> {
    let record = std::fs::read(record_file(scratch, node)).ok()?;
    let record: serde_json::Value = serde_json::from_slice(&record).ok()?;
    record["port"].as_u64().and_then(|port| port.try_into().ok())
}

/// Keeps hundreds of silent connections to `port` open until it is over; they are there on return.
fn crowd(port: u16, over: &Arc<AtomicBool>) -> JoinHandle<()> {
    let mut peers: Vec<Peer> = (0..300).map(|_| Peer::connect(port)).collect();
    let over = Arc::clone(over);
    std::thread::spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let gone = peers.iter_mut().filter(|peer| peer.is_hung_up());
            gone.for_each(|peer| *peer = Peer::connect(port));
            std::thread::sleep(Duration::from_millis(50));
        }
    })
}

#[test]
fn an_agent_that_stays_is_remembered_until_it_is_proved_gone() {
    let scratch = Scratch::new("stay-stopped");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["up", "local1"]).with_code(0);
    let agents = || -> Vec<Process> {
        scratch.processes().into_iter().filter(|process| process.is_agent(None)).collect()
    };
    let before = agents();
    let [agent] = &before[..] else { panic!("one agent stays: {before:?}") };
    let port = recorded_port(&scratch, "local1").expect("it is recorded");
    let assert_known = || {
        assert_eq!(agents(), before, "another agent was started, or it is gone");
        assert_eq!(recorded_port(&scratch, "local1"), Some(port), "its record is lost");
    };

    // Stopped for longer than a command waits for its answer.
    agent.stop();
    let said = garland.run(&["up", "local1"]).with_code(3);
    assert!(said.out.contains("cannot connect to its standing agent"), "{said:?}");
    agent.go_on();
    assert_known();
    let _ = garland.run(&["status", "local1"]).with_code(0);
    let _ = garland.run(&["up", "local1"]).with_code(0);
    assert_known();

    // In a crowd of strangers from the head's own address, which come back at once: whether the
    // head is served or has to make room for them, no other agent is started.
    let over = Arc::new(AtomicBool::new(false));
    let strangers = crowd(port, &over);
    let said = garland.run(&["up", "local1"]);
    assert!([0, 3].contains(&said.code), "{said:?}");
    assert_known();
    // What needs no agent that stays has one of its own.
    let _ = garland.run(&["exec", "local1", "--", "true"]).with_code(0);
    assert_known();
    over.store(true, Ordering::Relaxed);
    strangers.join().expect("they only connect");
    until("it has time again", || garland.run(&["status", "local1"]).code == 0);
    assert_known();
    let said = garland.run(&["down", "local1"]).with_code(0);
    assert_eq!(said.out, "down    local1\n");
    assert_eq!(recorded_port(&scratch, "local1"), None);
    scratch.assert_nothing_left();
}

#[test]
fn a_record_whose_agent_cannot_be_reached_is_removed_if_the_user_says_so() {
    let scratch = Scratch::new("stay-forget");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["up", "local1"]).with_code(0);
    let agent = scratch.processes().into_iter().find(|process| process.is_agent(None));
    let agent = agent.expect("one stays");
    agent.stop();
    let said = garland.run(&["down", "--forget", "local1"]).with_code(0);
    assert!(said.out.starts_with("skipped local1: its record is removed: "), "{said:?}");
    assert_eq!(recorded_port(&scratch, "local1"), None);
    agent.kill();
    scratch.assert_nothing_left();
}

#[test]
fn a_key_that_cannot_be_read_is_named_and_kept_by_all_commands() {
    let scratch = Scratch::new("key-unreadable");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["up", "local1"]).with_code(0);
    let state =
        record_file(&scratch, "local1").parent().and_then(|path| path.parent().map(PathBuf::from));
    let key = state.expect("the state of a host").join("controller.key");
    let whole = std::fs::read(&key).expect("it is kept");
    for length in [0, 63] {
        std::fs::write(&key, &whole[..length]).expect("it is this user's");
        for words in [&["status"][..], &["down", "local1"], &["exec", "local1", "true"]] {
            let said = garland.run(words).with_code(3);
            let why = format!("controller.key: it has {length} bytes, not 64");
            assert!(said.err.contains(&why) && said.err.contains("hint: "), "{}", said.err);
        }
        assert_eq!(std::fs::read(&key).expect("it stays"), &whole[..length]);
    }
    std::fs::remove_file(&key).expect("it is this user's");
    std::fs::create_dir(&key).expect("a directory cannot be read");
    let said = garland.run(&["status"]).with_code(3);
    assert!(said.err.contains("it is not a regular file") && key.is_dir(), "{}", said.err);
    std::fs::remove_dir(&key).expect("it is empty");
    // As it was written: 0600.
    std::fs::write(&key, &whole).expect("it is this user's");
    set_mode(&key, 0o604);
    let said = garland.run(&["status"]).with_code(3);
    assert!(said.err.contains("it has mode 0604"), "{}", said.err);
    set_mode(&key, 0o600);
    let _ = garland.run(&["down", "local1"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn an_agent_whose_record_cannot_be_read_is_not_taken_for_none() {
    let scratch = Scratch::new("record-unreadable");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["up", "local[1-2]"]).with_code(0);
    let path = record_file(&scratch, "local1");
    let whole = std::fs::read(&path).expect("it is kept");
    std::fs::write(&path, "").expect("it is this user's");
    let why = "cannot read the record of its standing agent, ";
    // No second agent is started.
    let said = garland.run(&["exec", "local1", "true"]).with_code(3);
    assert!(format!("{}{}", said.out, said.err).contains(why), "{}{}", said.out, said.err);
    let said = garland.run(&["status"]).with_code(1);
    assert!(said.out.contains(why) && said.out.contains("up      local2"), "{}", said.out);
    let said = garland.run(&["names"]).with_code(3);
    assert!(said.err.contains(why) && said.err.contains("down --forget 'local1'"), "{}", said.err);
    assert!(std::fs::read(&path).expect("it stays").is_empty());
    let said = garland.run(&["down"]).with_code(1);
    assert!(said.out.contains(why) && said.out.contains("down    local2"), "{}", said.out);
    std::fs::write(&path, &whole).expect("it is this user's");
    let _ = garland.run(&["down", "local1"]).with_code(0);
    // One that is lost is removed if the user says so.
    std::fs::write(&path, "{}").expect("it is this user's");
    set_mode(&path, 0o600);
    let said = garland.run(&["down", "--forget", "local1"]).with_code(0);
    assert!(said.out.contains("its record is removed") && !path.exists(), "{}", said.out);
    scratch.assert_nothing_left();
}

#[test]
fn a_key_of_the_cluster_that_cannot_be_read_is_an_error() {
    let scratch = Scratch::new("cluster-key");
    let key = scratch.path("cluster.key");
    let names = || {
        let mut command = garland_in(&scratch).command(&["names"]);
        command.env("GARLAND_CLUSTER_KEY", &key);
        Running::start(command).end()
    };
    let said = names().with_code(2);
    assert!(said.err.contains("cluster.key: there is no such file"), "{}", said.err);
    std::fs::write(&key, "no key").expect("it is this user's");
    set_mode(&key, 0o600);
    let said = names().with_code(2);
    assert!(said.err.contains("it is no key of a cluster"), "{}", said.err);
    set_mode(&key, 0o644);
    let said = names().with_code(3);
    assert!(said.err.contains("it has mode 0644"), "{}", said.err);
    // That of this machine, too: it is a member that cannot read its key, and not a controller.
    let _ = garland_in(&scratch).run(&["status"]);
    let own =
        record_file(&scratch, "local1").parent().and_then(|path| path.parent().map(PathBuf::from));
    let own = own.expect("the state of a host").join("cluster.key");
    std::fs::write(&own, "").expect("it is this user's");
    set_mode(&own, 0o600);
    let said = garland_in(&scratch).run(&["names"]).with_code(2);
    assert!(said.err.contains("it is no key of a cluster"), "{}", said.err);
    scratch.assert_nothing_left();
}

fn set_mode(path: &Path, mode: u32) {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).expect("it is this user's");
}

#[test]
fn the_cluster_file_of_the_working_directory_runs_nothing_here() {
    let scratch = Scratch::new("here");
    let garland = garland_in(&scratch);
    let file = scratch.path("cluster.toml");
    let write = |options: &str| {
        let text = format!("version = 1\nnodes = \"n1\"\n[ssh]\noptions = {options}\n");
        std::fs::write(&file, text).expect("it can be written");
    };
    let exec = ["exec", "n1", "--", "true"];
    for options in ["[\"-oProxyCommand=touch ran\"]", "[\"-o\", \"proxycommand touch ran\"]"] {
        write(options);
        let said = garland.run(&exec).with_code(2);
        assert!(said.err.starts_with("error: ./cluster.toml is not used: `"), "{}", said.err);
        assert!(
            said.err.contains("to use it all the same: --cluster cluster.toml, or"),
            "{}",
            said.err
        );
        assert!(!scratch.path("ran").exists(), "{options} ran a command");
    }
    // Whoever names it gets what it says.
    let _ = garland.run(&["--cluster", "cluster.toml", "exec", "n1", "--", "true"]).with_code(3);
    assert!(scratch.path("ran").exists(), "the named file's option counts");

    write("[\"-oConnectTimeout=1\"]");
    let plan = ["exec", "n2", "--", "true"];
    let not_listed = "note: n2 is not in cluster.toml, and reached as ssh knows the name";
    assert!(garland.run(&plan).with_code(3).err.contains(not_listed), "it is used");
    set_mode(&file, 0o646);
    let said = garland.run(&plan).with_code(2);
    assert!(said.err.contains("other users may write to it (mode 0646)"), "{}", said.err);
    set_mode(&file, 0o644);
    set_mode(scratch.folder(), 0o777);
    let said = garland.run(&plan).with_code(2);
    assert!(said.err.contains("other users may replace it"), "{}", said.err);
    set_mode(scratch.folder(), 0o1777);
    assert!(garland.run(&plan).with_code(3).err.contains(not_listed), "a sticky folder is good");
    set_mode(scratch.folder(), 0o755);
    scratch.assert_nothing_left();
}

#[test]
fn a_command_without_a_result_object() {
    let scratch = Scratch::new("no-object");
    insta::assert_snapshot!(shown(&garland_in(&scratch).run(&["demo", "--json"])), @r"
    error: cannot use --json: this command has no result object
    hint: omit --json; docs/results.md lists the commands with result objects
    [exit 2]
    ");
}

#[test]
fn the_book_has_the_help_of_all_commands() {
    let scratch = Scratch::new("reference");
    let written = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference");
    let directory = scratch.path("reference").display().to_string();
    let _ =
        garland_in(&scratch).run(&["man", "--markdown", "--directory", &directory]).with_code(0);
    let pages = |folder: &str| -> BTreeMap<PathBuf, String> {
        let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.unwrap().path());
        let page = |file: PathBuf| {
            let text = std::fs::read_to_string(&file).expect("a page");
            (file.file_name().expect("a name").into(), text)
        };
        files.map(page).collect()
    };
    let said = pages(&directory);
    let written = pages(written);
    assert!(said.contains_key(Path::new("cp.md")), "{:?}", said.keys());
    let names: BTreeSet<_> = said.keys().chain(written.keys()).collect();
    let old: Vec<_> = names.iter().filter(|name| said.get(**name) != written.get(**name)).collect();
    assert!(old.is_empty(), "pages of docs/reference are old, `make reference`: {old:?}");
}
