//! Standing agents of older and newer releases: the same program, which claims another protocol
//! version.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use garland_protocol::wire::PROTOCOL;
use garland_testkit::{
    Garland, Process, Scratch, assert_copied, await_some, locals, random_file, until,
};

use super::{garland_in, record_file, recorded_port};

/// The protocol versions of an older release and of a newer one.
const OLDER: u16 = PROTOCOL - 1;
const NEWER: u16 = PROTOCOL + 1;

/// The release of this program.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Returns the program as one of the release with the protocol version `protocol`.
fn of_release(scratch: &Scratch, protocol: u16) -> Garland<'_> {
    garland_in(scratch).of_protocol(protocol)
}

fn agents(scratch: &Scratch) -> Vec<Process> {
    let mut agents = scratch.processes();
    agents.retain(|process| process.is_agent(None) && process.command.contains("--stay"));
    agents.sort_by(|one, two| one.command.cmp(&two.command));
    agents
}

/// The command line of an agent without the word by which its process is found.
fn without_tag(command: &str) -> String {
    let (before, after) = command.split_once("--tag ").expect("a standing agent has one");
    let (_, after) = after.split_once(' ').expect("others follow");
    format!("{before}{after}")
}

/// Returns the command lines of agents without their tags, in the order of the text: agents of
/// several nodes are started at once.
fn settings(agents: &[Process]) -> Vec<String> {
    let mut settings: Vec<String> =
        agents.iter().map(|agent| without_tag(&agent.command)).collect();
    settings.sort();
    settings
}

/// Asserts that all `agents` have ended, and that as many others are running, which are returned.
fn successors(scratch: &Scratch, agents: &[Process]) -> Vec<Process> {
    let others = self::agents(scratch);
    assert_eq!(others.len(), agents.len(), "{others:?} instead of {agents:?}");
    assert!(others.iter().all(|new| agents.iter().all(|old| old.pid != new.pid)), "{others:?}");
    others
}

/// Returns what is said of `nodes` whose agents were replaced.
fn retired(nodes: &str) -> String {
    format!(
        "retired {nodes}: its standing agent was of an older release (garland {RELEASE}, protocol \
         {OLDER}); one of this release replaces it\n"
    )
}

#[test]
fn a_copy_replaces_standing_agents_of_an_older_release_and_says_so() {
    let scratch = Scratch::new("older-copy");
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").display().to_string();
    let up = ["up", "--idle", "1800", "--local-root", &roots, "local[1-2]"];
    let _ = of_release(&scratch, OLDER).run(&up).with_code(0);
    let before = agents(&scratch);
    random_file(&scratch.path("f"), 100_000, 1);
    let copy = ["cp", "f", "local[1-2]:/x"];
    let said = garland.run(&copy).with_code(0);
    assert_eq!(said.err, retired("local[1-2]"));
    // They have the settings of their predecessors, and their directories.
    assert_copied(&scratch, locals(2), "x", &scratch.path("f"));
    let after = successors(&scratch, &before);
    assert!(after.iter().all(|new| new.command.contains("--stay 1800")), "{after:?}");
    assert_eq!(settings(&before), settings(&after));
    // They stay, and the next copy only uses them.
    assert_eq!(
        garland.run(&["status"]).with_code(0).out.lines().next(),
        Some("up      local[1-2]")
    );
    assert_eq!(garland.run(&copy).with_code(0).err, "");
    assert_eq!(agents(&scratch), after);
    assert_eq!(garland.run(&["down"]).with_code(0).out, "down    local[1-2]\n");
    scratch.assert_nothing_left();
}

#[test]
fn up_replaces_a_standing_agent_of_an_older_release_which_status_shows() {
    let scratch = Scratch::new("older-up");
    let garland = garland_in(&scratch);
    let _ = of_release(&scratch, OLDER).run(&["up", "local1"]).with_code(0);
    let before = agents(&scratch);
    let _ = garland.run(&["up", "local2"]).with_code(0);
    let said = garland.run(&["status"]).with_code(1).out;
    let older = format!(
        "failed  local1: its standing agent is of an older release (garland {RELEASE}, protocol \
         {OLDER}), this is protocol {PROTOCOL}: `garland up NODE` replaces it\n"
    );
    assert!(said.starts_with(&format!("up      local2\n{older}")), "{said}");
    assert_eq!(agents(&scratch).len(), 2, "status ends no agent");
    let said = garland.run(&["up", "local[1-2]"]).with_code(0);
    assert_eq!(said.err, retired("local1"));
    assert_eq!(said.out, "up      local[1-2]\nlinks   1 between neighbours\n");
    assert!(agents(&scratch).iter().all(|agent| agent.pid != before[0].pid));
    let _ = garland.run(&["status"]).with_code(0);
    let _ = garland.run(&["down"]).with_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_standing_agent_of_a_newer_release_is_kept_and_the_user_told() {
    let scratch = Scratch::new("newer");
    let garland = garland_in(&scratch);
    let newer = of_release(&scratch, NEWER);
    let _ = newer.run(&["up", "local1"]).with_code(0);
    let before = agents(&scratch);
    let reason = format!(
        "its standing agent is of a newer release (garland {RELEASE}, protocol {NEWER}), this is \
         protocol {PROTOCOL}: use that release, or end the agent: garland down NODE"
    );
    let said = garland.run(&["up", "local1"]).with_code(3);
    assert_eq!((said.out, said.err), (format!("failed  local1: {reason}\n"), String::new()));
    // A copy does without it, as without one that cannot be reached.
    random_file(&scratch.path("f"), 100_000, 1);
    let said = garland.cp(&["f", "local1:/x"]).with_code(0);
    let kept = format!("kept    local1: {reason}; this command starts an agent of its own\n");
    assert_eq!(said.err, kept);
    assert_copied(&scratch, locals(1), "x", &scratch.path("f"));
    assert_eq!(agents(&scratch), before);
    let _ = newer.run(&["status"]).with_code(0);
    assert_eq!(garland.run(&["down", "local1"]).with_code(0).out, "down    local1\n");
    scratch.assert_nothing_left();
}

#[test]
fn down_ends_standing_agents_of_an_older_release() {
    let scratch = Scratch::new("older-down");
    let garland = garland_in(&scratch);
    let _ = of_release(&scratch, OLDER).run(&["up", "local[1-2]"]).with_code(0);
    let _ = garland.run(&["up", "local3"]).with_code(0);
    assert_eq!(garland.run(&["down"]).with_code(0).out, "down    local[1-3]\n");
    let said = garland.run(&["down", "local1"]).with_code(0);
    assert_eq!(said.out, "skipped local1: no agent was up\n");
    scratch.assert_nothing_left();
}

#[test]
fn a_standing_agent_is_not_replaced_while_a_copy_of_its_release_uses_it() {
    let scratch = Scratch::new("older-busy");
    let garland = garland_in(&scratch);
    let older = of_release(&scratch, OLDER);
    let roots = scratch.path("roots").display().to_string();
    let up = ["up", "--local-root", &roots, "local1"];
    let _ = older.run(&up).with_code(0);
    let before = agents(&scratch);
    let (reader, mut source) = std::io::pipe().expect("there are pipes");
    let copy = older.start_cp_reading(&["-", "local1:/streamed"], reader);
    random_file(&scratch.path("f"), 3_000_000, 1);
    let bytes = std::fs::read(scratch.path("f")).expect("it was made");
    source.write_all(&bytes[..2_000_000]).expect("the copy reads");
    until("the copy to begin", || !scratch.partial_files().is_empty());

    let said = garland.run(&up).with_code(3);
    let reason = format!(
        "its standing agent is of an older release (garland {RELEASE}, protocol {OLDER}), and other \
         commands use it: when they have ended, `garland up NODE` replaces it"
    );
    assert_eq!((said.out, said.err), (format!("failed  local1: {reason}\n"), String::new()));
    let said = garland.cp(&["f", "local1:/x"]).with_code(0);
    let kept = format!("kept    local1: {reason}; this command starts an agent of its own\n");
    assert_eq!(said.err, kept);
    assert_copied(&scratch, locals(1), "x", &scratch.path("f"));
    assert_eq!(agents(&scratch), before);

    source.write_all(&bytes[2_000_000..]).expect("the copy reads on");
    drop(source);
    let _ = copy.end().with_code(0);
    assert_copied(&scratch, locals(1), "streamed", &scratch.path("f"));
    let said = await_some("the agent to be idle", || {
        let said = garland.run(&up);
        (said.code == 0).then_some(said)
    });
    assert_eq!(said.err, retired("local1"));
    successors(&scratch, &before);
    let _ = garland.run(&["down"]).with_code(0);
    scratch.assert_nothing_left();
}

/// Passes a connection on to `port`, and changes the protocol version in the first answer.
fn make_older(mut near: TcpStream, port: u16) {
    let mut far = TcpStream::connect(("127.0.0.1", port)).expect("the agent listens");
    let clones = near.try_clone().and_then(|near| Ok((near, far.try_clone()?)));
    let (mut from, mut to) = clones.expect("a descriptor is left");
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut preamble = [0; 32];
    if far.read_exact(&mut preamble).is_ok() {
        preamble[8..10].copy_from_slice(&OLDER.to_le_bytes());
        // The head may have closed the connection.
        let _ = near.write_all(&preamble).and_then(|()| std::io::copy(&mut far, &mut near));
    }
    let _ = near.shutdown(Shutdown::Both);
}

#[test]
fn an_attacker_who_changes_the_version_of_an_agent_does_not_have_it_retired() {
    let scratch = Scratch::new("seems-older");
    let garland = garland_in(&scratch);
    let _ = garland.run(&["up", "local1"]).with_code(0);
    let before = agents(&scratch);
    let port = recorded_port(&scratch, "local1").expect("it is recorded");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let attackers = listener.local_addr().expect("it listens").port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            std::thread::spawn(move || make_older(near, port));
        }
    });
    let file = record_file(&scratch, "local1");
    let record = std::fs::read_to_string(&file).expect("it is recorded");
    let ports = [port, attackers].map(|port| format!("\"port\": {port}"));
    std::fs::write(&file, record.replace(&ports[0], &ports[1])).expect("it is this user's");

    let said = garland.run(&["up", "local1"]).with_code(3);
    let reason = "its standing agent is not of an older release, though it seemed so: bytes were \
                  changed in transit";
    assert_eq!(said.out, format!("failed  local1: {reason}\n"));
    assert_eq!(agents(&scratch), before);
    std::fs::write(&file, record).expect("it is this user's");
    assert_eq!(garland.run(&["down"]).with_code(0).out, "down    local1\n");
    scratch.assert_nothing_left();
}
