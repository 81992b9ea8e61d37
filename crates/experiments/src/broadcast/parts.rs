//! The programs of a chain that are no part of Garland, one on each node: their start and their
//! end.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

use garland_lab::Lab;
use garland_sys::{clock, threads};
use garland_terminal::failure::{Failure, OrFailure};

use crate::scenario_lab::ScenarioLab;

/// The timeout of a chain, in nanoseconds: if a byte is lost, its programs would wait forever.
const PATIENCE_NS: u64 = 300_000_000_000;

/// Starts the programs of all `nodes` but the first, from the tail: each listens on `port` before
/// the one ahead of it starts. `start` starts that of a node, with its file `name` and the address
/// of the next node, which is `-` for the last.
pub fn start_from_tail(
    lab: &Lab,
    nodes: &[String],
    name: &str,
    port: &str,
    mut start: impl FnMut(&str, &Path, &str) -> Result<Child, Failure>,
) -> Result<Vec<Child>, Failure> {
    let mut parts = Vec::new();
    let mut next = "-".to_owned();
    for node in nodes.iter().skip(1).rev() {
        let file = lab.root(node).map_err(Failure::nothing)?.join(name);
        lab.await_start(node).map_err(Failure::nothing)?;
        parts.push(start(node, &file, &next)?);
        await_listener(lab, node, port)?;
        next = lab.address(node).map_err(Failure::nothing)?.to_string();
    }
    Ok(parts)
}

/// Waits until one program of a chain that began at `began_ns` has ended with success; `whose`
/// names the chain.
pub fn await_end(
    lab: &ScenarioLab<'_>,
    mut child: Child,
    whose: &str,
    began_ns: u64,
) -> Result<(), Failure> {
    loop {
        match child.try_wait().or_nothing(format!("cannot wait for {whose}"))? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(Failure::nothing(format!("{whose} failed: {status}"))),
            None if lab.interrupted() => {
                // The other processes lose their connection, or end with the lab.
                let _ = child.kill();
                lab.go_on()?;
            }
            None if clock::now_ns() > began_ns + PATIENCE_NS => {
                // The process may have ended just now; the error below is reported anyway.
                let _ = child.kill();
                return Err(Failure::nothing(format!("{whose} timed out after 300 s")));
            }
            None => threads::sleep(Duration::from_millis(5)),
        }
    }
}

/// Waits up to 10 s until a program listens on `port` of a node; programs of 2005 do not report
/// this themselves.
fn await_listener(lab: &Lab, node: &str, port: &str) -> Result<(), Failure> {
    let deadline = clock::now_ns() + 10_000_000_000;
    let pattern = format!("sport = :{port}");
    while clock::now_ns() < deadline {
        let mut sockets = lab.command(node, "ss").map_err(Failure::nothing)?;
        let output = sockets.args(["-Htln", &pattern]).output().or_nothing("cannot run ss")?;
        if !output.stdout.is_empty() {
            return Ok(());
        }
        threads::sleep(Duration::from_millis(5));
    }
    let waited = "timed out after 10 s waiting for a program to listen";
    Err(Failure::nothing(format!("{waited} on port {port} of {node}"))
        .hint("if netcat or perl is not installed, run apt-get install netcat-openbsd perl"))
}
