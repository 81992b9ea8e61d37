//! The server and the client of a measurement: the server runs on the first receiving node, the
//! client on the head, each pinned to a processor of its own.

use std::fs::{self, File};
use std::ops::Deref;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::super::contest::Setting;
use super::super::field::{Field, LAB, wait_listening, wait_listening_outside};
use super::super::peers::garland_program;
use super::super::processes::{Nodes, Processes, alone, name};

/// Timeout of a turn.
const LIMIT: Duration = Duration::from_secs(20);

/// Returns the numbers of the processors for the head and for the other node.
///
/// # Errors
/// If this process may use only one processor.
pub(crate) fn cpus() -> Result<[usize; 2]> {
    let set = sched_getaffinity(None).context("failed to read the CPU affinity of this process")?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
    let first = cpus.next().zip(cpus.next());
    let (head, other) = first
        .context("two processors are needed, one for each node; this process may use only one")?;
    Ok([head, other])
}

/// A server and the client that measures against it.
pub(super) struct Duet<'a> {
    /// The server's command, on the other node. The server is killed when the client has ended.
    pub(super) server: &'a [&'a str],
    /// The socket table that lists the server's socket (`tcp`, `tcp6` or `udp`), and its port.
    pub(super) listens: (&'static str, u16),
    /// The client's command, on the head.
    pub(super) client: &'a [&'a str],
    /// The place where both processes run.
    pub(super) place: Inside,
}

/// The place where the processes of a duet run.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Inside {
    /// On the two nodes.
    Lab,
    /// Outside of the lab, for tools that must find each other's processes in `/proc`.
    Machine,
}

impl Duet<'_> {
    /// Runs server and client, and returns the client's output.
    pub(super) fn play(&self, field: &Field) -> Result<String> {
        let mut server = Processes::default();
        let (table, port) = self.listens;
        let child = server.start(1, self.on(field, 1, self.server)?)?;
        let listens = match self.place {
            Inside::Lab => wait_listening(child, table, port),
            Inside::Machine => wait_listening_outside(child, table, port),
        };
        listens.with_context(|| {
            format!("failed to start {}: {}", self.server.join(" "), field.said(1))
        })?;
        let mut client = self.on(field, 0, self.client)?;
        let heard = field.dir(0).join("heard");
        client
            .stdout(File::create(&heard).context("failed to create a file for the tool's output")?);
        let mut processes = Processes::default();
        processes.start(0, client)?;
        processes.finish_within(field, LIMIT).with_context(|| self.client.join(" "))?;
        fs::read_to_string(&heard).context("failed to read the tool's output")
    }

    /// Returns a command for `node`, pinned to the node's processor.
    fn on(&self, field: &Field, node: usize, words: &[&str]) -> Result<Command> {
        let mut command = match self.place {
            Inside::Lab => field.command(node, "taskset")?,
            Inside::Machine => field.outside("taskset")?,
        };
        command.args(["-c", &cpus()?[node].to_string()]).args(words);
        Ok(command)
    }
}

/// Two nodes with Garland's standing agents, pinned to the nodes' processors. The agents stay
/// between turns, as other tools' servers do.
pub(crate) struct Pair(Field);

/// Both nodes, as a node list.
pub(super) const NODES: &str = "lab:n[0-1]";

impl Deref for Pair {
    type Target = Field;

    fn deref(&self) -> &Field {
        &self.0
    }
}

impl Pair {
    /// Builds the nodes with links of `rate` bit/s, and starts the agents.
    ///
    /// # Errors
    /// If a node cannot be built, or an agent cannot be started or pinned.
    pub(crate) fn up(setting: &Setting<'_>, rate: Option<u64>) -> Result<Self> {
        let field = Field::up(setting.run, 1, rate, setting.words.value("--cc"));
        let pair = Self(field.context("failed to set up two nodes")?);
        let mut command = pair.outside(&garland_program()?)?;
        command.args(["up", "--lab", LAB, NODES]);
        alone(&*pair, 0, command).context("garland up")?;
        for (node, cpu) in cpus()?.into_iter().enumerate() {
            for pid in pair.residents(node)? {
                let mut command = pair.outside("taskset")?;
                command.args(["-a", "-c", "-p", &cpu.to_string(), &pid]);
                alone(&*pair, 0, command)
                    .with_context(|| format!("failed to pin {} to CPU {cpu}", name(node)))?;
            }
        }
        Ok(pair)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let down = garland_program().and_then(|program| {
            let mut command = self.0.outside(&program)?;
            command.args(["down", "--lab", LAB, NODES]);
            alone(&self.0, 0, command)
        });
        if let Err(error) = down {
            eprintln!("`garland down` failed: {error:#}");
        }
    }
}

/// Parses the number after `mark` in a tool's output.
pub(super) fn number_after(text: &str, mark: &str) -> Result<f64> {
    let rest = text.split_once(mark).map(|(_, rest)| rest.trim_start());
    let rest =
        rest.with_context(|| format!("the tool's output lacks `{mark}`: {}", text.trim()))?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end]
        .parse()
        .with_context(|| format!("no number after `{mark}` in the tool's output: {}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_behind_words() {
        assert_eq!(number_after("a = 1\n b =   27.30 us\n", "b =").unwrap(), 27.3);
        assert!(number_after("a = 1", "b =").is_err());
        assert!(number_after("b = us", "b =").unwrap_err().to_string().contains("no number"));
    }
}
