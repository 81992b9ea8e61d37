//! `garland exec`: runs a command on every node. Each output is prefixed with the node's name;
//! equal outputs are printed once.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use garland_control::{CommandEnd, run_command};
use garland_core::cluster::nodelist;
use garland_sys::signal::Interrupts;
use serde::Serialize;

use crate::args::Exec;
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::head::{Head, NodeEnd, NodeVerdict, Phases, print_json};
use garland_results::places::Places;
use garland_results::run::Run;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_terminal::verdicts::folded;

/// Placeholder for a node's own name when outputs are compared.
const OWN_NAME: &str = "<node>";

/// The maximum output of a node that is kept for comparison, in bytes; longer output is printed as
/// it arrives.
const FOLDED_MAX: usize = 1 << 20;

/// The result object `garland.exec/2`.
#[derive(Serialize)]
struct ExecResult {
    #[serde(flatten)]
    head: Head,
    nodes: Vec<NodeResult>,
}

#[derive(Serialize)]
struct NodeResult {
    name: String,
    #[serde(flatten)]
    end: NodeEnd,
    exit_code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs a command on every node.
pub fn run(context: &Context, exec: &Exec) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(&exec.nodes)?;
    let places = Places::open()?;
    let lab = exec.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "exec")?;
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: context.json,
        ..FleetBuilder::new(&nodes, &inventory, &places, &exec.launch, &run, lab.as_ref())
    };
    let fleet = builder.assemble()?;
    phases.end("set-up");
    let command = words(exec);
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let mut outputs: Vec<[Vec<u8>; 2]> = vec![[Vec::new(), Vec::new()]; nodes.len()];
    let ends =
        run_command(fleet.agents, &command, Some(&interrupts), &mut |at, is_error, bytes| {
            let kept = &mut outputs[at][usize::from(is_error)];
            kept.extend(bytes);
            if kept.len() > FOLDED_MAX && !context.json {
                // Print only whole lines; keep the beginning of the next line.
                let whole = kept.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
                let whole = if whole == 0 { kept.len() } else { whole };
                let lines: Vec<u8> = kept.drain(..whole).collect();
                print_lines(&names[at], is_error, &lines);
            }
        })
        .or_nothing("running the command")?;
    phases.end("command");
    let interrupted = ends.contains(&CommandEnd::Interrupted);
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, |_| false);
    phases.end("teardown");
    if context.json {
        let result = ExecResult {
            head: Head::new("garland.exec/2", Some(&run), phases),
            nodes: names.iter().zip(&ends).zip(&outputs).map(node_result).collect(),
        };
        run.keep("result.json", &result)?;
        print_json(&result)?;
    } else {
        print_folded(&names, &outputs);
        let reasons: Vec<Option<String>> = ends.iter().map(reason).collect();
        let failures = names.iter().zip(&reasons).filter(|(_, reason)| reason.is_some());
        let verdicts = failures.map(|(name, reason)| ("failed", reason.as_deref(), name.as_str()));
        output::warn(folded(verdicts));
    }
    let all = ends.iter().all(|end| *end == CommandEnd::Exited(0));
    let any = ends.iter().any(|end| !matches!(end, CommandEnd::Failed(_)));
    Ok(Exit::of_work(all, any, interrupted))
}

/// Returns the command and its arguments, as nodes execute them.
fn words(exec: &Exec) -> Vec<Vec<u8>> {
    let words: Vec<Vec<u8>> = exec.command.iter().map(|word| word.as_bytes().to_vec()).collect();
    if exec.shell { vec![b"sh".to_vec(), b"-c".to_vec(), words.join(&b' ')] } else { words }
}

fn reason(end: &CommandEnd) -> Option<String> {
    match end {
        CommandEnd::Exited(0) => None,
        CommandEnd::Exited(code @ 1..) => Some(format!("exit code {code}")),
        CommandEnd::Exited(signal) => Some(format!("killed by signal {}", -signal)),
        CommandEnd::Failed(reason) => Some(reason.clone()),
        CommandEnd::Interrupted => Some("interrupted".to_owned()),
    }
}

fn node_result(((name, end), output): ((&String, &CommandEnd), &[Vec<u8>; 2])) -> NodeResult {
    NodeResult {
        name: name.clone(),
        end: NodeEnd::new(NodeVerdict::Failed, reason(end)),
        exit_code: match end {
            CommandEnd::Exited(code) => Some(*code),
            CommandEnd::Failed(_) | CommandEnd::Interrupted => None,
        },
        stdout: String::from_utf8_lossy(&output[0]).into_owned(),
        stderr: String::from_utf8_lossy(&output[1]).into_owned(),
    }
}

/// Prints each distinct output once, prefixed by the nodes that produced it.
fn print_folded(names: &[String], outputs: &[[Vec<u8>; 2]]) {
    for is_error in [true, false] {
        let mut groups: BTreeMap<Vec<u8>, (&[u8], Vec<&str>)> = BTreeMap::new();
        for (name, output) in names.iter().zip(outputs) {
            let output = &output[usize::from(is_error)];
            if !output.is_empty() {
                let group = groups.entry(without_name(output, name));
                group.or_insert_with(|| (output, Vec::new())).1.push(name);
            }
        }
        for (folded, (own, group)) in groups {
            // The output of a single node is printed as it is.
            let output = if group.len() == 1 { own } else { &folded };
            print_lines(&nodelist::fold(&group), is_error, output);
        }
    }
}

/// Returns `output` with the node's own name replaced by [`OWN_NAME`], so that outputs that differ
/// only in the name compare equal.
fn without_name(output: &[u8], name: &str) -> Vec<u8> {
    replace(output, own_name(name).as_bytes(), OWN_NAME.as_bytes())
}

/// Returns the host name in a node's name: the part after a launcher's prefix and a user's name.
fn own_name(name: &str) -> &str {
    name.rsplit([':', '@']).next().unwrap_or(name)
}

/// Returns `text` with `from` replaced by `to` where `from` is a whole word.
fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut result = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        if rest.starts_with(from) && !is_word(before) && !is_word(rest.get(from.len())) {
            result.extend(to);
            at += from.len();
        } else {
            result.push(rest[0]);
            at += 1;
        }
    }
    result
}

fn print_lines(nodes: &str, is_error: bool, output: &[u8]) {
    let mut text = Vec::with_capacity(output.len() + 64);
    for line in output.split_inclusive(|&byte| byte == b'\n') {
        text.extend(nodes.as_bytes());
        text.extend(b": ");
        text.extend(line);
    }
    if !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    output::pass_on(&text, is_error);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_own_name_folds() {
        assert_eq!(without_name(b"n3\n", "lab:n3"), b"<node>\n");
        assert_eq!(without_name(b"n30 xn3 n3.site\n", "n3"), b"n30 xn3 <node>.site\n");
    }

    #[test]
    fn codes_and_signals_have_reasons() {
        assert_eq!(reason(&CommandEnd::Exited(0)), None);
        assert_eq!(reason(&CommandEnd::Exited(2)).unwrap(), "exit code 2");
        assert_eq!(reason(&CommandEnd::Exited(-9)).unwrap(), "killed by signal 9");
    }
}
