//! `garland exec`: runs a command on every node. Lines of output are prefixed with the node's name.

mod display;
mod everywhere;
mod folded;
mod waiting;

use std::io::{self, IsTerminal, Read};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use garland_control::{CommandEnd, CommandEnds, CommandNews, CommandRequest};
use garland_core::cluster::{Node, nodelist};
use garland_core::units::Nanos;
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{END_TIMEOUT, INTERRUPTED_END_TIMEOUT};
use garland_fleet::shell_expansion;
use garland_protocol::wire::MAX_MESSAGE;
use garland_results::head::{Head, NodeEnd, NodeVerdict, Phases, print_json};
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::inherited;
use garland_sys::signal::Interrupts;
use garland_sys::sync::Mutex;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_terminal::verdicts::folded;
use serde::Serialize;

use crate::args::Exec;
use display::Display;
use waiting::Waiting;

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

/// The message if the output cannot be printed, or kept until it is printed.
const WRITING: &str = "cannot write the output of the commands";

/// Runs a command on every node.
pub fn run(context: &Context, exec: &Exec) -> Result<Exit, Failure> {
    if context.json && (exec.fold || exec.group || exec.line_buffer) {
        return Err(Failure::usage(
            "with --json, --fold, --group and --line-buffer have no effect",
        ));
    }
    let mut phases = Phases::begin();
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    let inventory = Inventory::open(context)?;
    let nodes = nodes_of(exec, &inventory)?;
    tell_expansion(exec);
    let input = input_of(exec)?;
    refuse_too_long(&words(exec))?;
    let places = Places::open()?;
    let lab = exec.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "exec")?;
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        quiet: context.json,
        // The input is read once, for all.
        goes_ahead: input.is_none(),
        ..FleetBuilder::new(&nodes, &inventory, &places, &exec.launch, &run, lab.as_ref())
    };
    let fleet = builder.assemble()?;
    phases.end("set-up");
    let command = words(exec);
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let mut display = Display::new(exec, context.json, &names, run.folder());
    let request = CommandRequest {
        words: &command,
        input,
        timeout: exec.timeout.map(|Nanos(time)| Duration::from_nanos(time)),
        interrupts: Some(&interrupts),
    };
    let waiting = Waiting::new(&names, context.json);
    let Ran { ends, children, failed } =
        run_shown(&builder, fleet, request, &mut display, waiting)?;
    let CommandEnds { nodes: mut ends, unread_input } = ends;
    phases.end("command");
    let interrupted = ends.contains(&CommandEnd::Interrupted);
    children.end(if interrupted { INTERRUPTED_END_TIMEOUT } else { END_TIMEOUT }, |_| false);
    phases.end("teardown");
    let any = ends.iter().any(|end| !matches!(end, CommandEnd::Failed(_)));
    // The interrupt is this command's own if the output could not be written.
    let exit = if any { Exit::SomeFailed } else { Exit::Nothing };
    let untold = |failure: Failure| failure.after(exit);
    failed.map_or(Ok(()), Err).or_nothing(WRITING).map_err(untold)?;
    if !display.is_wanted() {
        // As in other pipes, it is no failure that the reader needed no more.
        let ended = ends.iter_mut().filter(|end| **end == CommandEnd::Interrupted);
        ended.for_each(|end| *end = CommandEnd::Exited(0));
    }
    let outputs = display.end().or_nothing(WRITING).map_err(untold)?;
    if context.json {
        let ended = names.iter().zip(&ends).zip(&outputs);
        let result = ExecResult {
            head: Head::new("garland.exec/2", Some(&run), phases),
            nodes: ended.map(|((name, end), output)| node_result(name, end, output)).collect(),
        };
        run.keep("result.json", &result)?;
        print_json(&result).map_err(untold)?;
    } else {
        tell_failures(&names, &ends);
    }
    unread_input.into_iter().for_each(tell_unread_input);
    let all = ends.iter().all(|end| *end == CommandEnd::Exited(0));
    Ok(Exit::of_work(all, any, ends.contains(&CommandEnd::Interrupted)))
}

/// How a command ended, what keeps its agents alive, and the error if its output cannot be printed.
struct Ran {
    ends: CommandEnds,
    children: Children,
    failed: Option<io::Error>,
}

/// Runs the command of `request`, and shows what it prints and which nodes hold up its input.
fn run_shown(
    builder: &FleetBuilder<'_>,
    fleet: Fleet,
    request: CommandRequest<'_>,
    display: &mut Display,
    waiting: Waiting<'_>,
) -> Result<Ran, Failure> {
    let interrupts = request.interrupts;
    let waiting = Mutex::new(waiting);
    let mut failed = None;
    let mut news = |at: usize, news: CommandNews<'_>| {
        display.admit(at, news)?;
        waiting.lock().clear();
        if let Err(error) = display.show(at, news) {
            failed.get_or_insert(error);
        }
        // Nobody reads the output of the commands any more, or not all of it can be written.
        if failed.is_some() || !display.is_wanted() {
            interrupts.iter().for_each(|interrupts| interrupts.raise());
        }
        Ok(())
    };
    let mut waits = |nodes: &[usize]| waiting.lock().show(nodes);
    let (ends, children) = everywhere::run(builder, fleet, request, &mut news, &mut waits)?;
    Ok(Ran { ends, children, failed })
}

/// Names the nodes whose commands failed.
fn tell_failures(names: &[String], ends: &[CommandEnd]) {
    let reasons: Vec<Option<String>> = ends.iter().map(reason).collect();
    let failures = names.iter().zip(&reasons).filter(|(_, reason)| reason.is_some());
    let verdicts = failures.map(|(name, reason)| ("failed", reason.as_deref(), name.as_str()));
    output::warn(folded(verdicts));
}

/// Prints that `bytes` of the input were read by no command. A loop around this command may miss
/// them.
fn tell_unread_input(bytes: u64) {
    output::warn(format!(
        "note: {bytes} bytes of standard input were read here, and by no command there; -n leaves \
         the input to others, such as to a `while read` loop\n"
    ));
}

/// Prints a note if the first words of the command are probably names of nodes: the shell has
/// replaced a list by names of files.
fn tell_expansion(exec: &Exec) {
    let words = exec.command.iter().map_while(|word| word.to_str());
    let nodes = std::iter::once(exec.nodes.as_str());
    if let Some(list) = shell_expansion::list_of(nodes.chain(words)) {
        output::warn(format!("note: {}\n", shell_expansion::advice(&list)));
    }
}

/// Returns the nodes on which the command is run.
fn nodes_of(exec: &Exec, inventory: &Inventory) -> Result<Vec<Node>, Failure> {
    let mut nodes = inventory.nodes(&exec.nodes)?;
    let Some(list) = &exec.excluded else { return Ok(nodes) };
    let excluded = inventory.nodes(list)?;
    let is_listed = |name: &str| nodes.iter().any(|node| node.name == name);
    let unlisted = excluded.iter().map(|node| node.name.as_str()).filter(|name| !is_listed(name));
    let unlisted: Vec<&str> = unlisted.collect();
    if !unlisted.is_empty() {
        let names = nodelist::fold(&unlisted);
        return Err(Failure::usage(format!("--exclude {names}: not among {}", exec.nodes)));
    }
    nodes.retain(|node| excluded.iter().all(|other| other.name != node.name));
    match nodes.is_empty() {
        true => Err(Failure::usage(format!("--exclude {list} leaves no node of {}", exec.nodes))),
        false => Ok(nodes),
    }
}

/// Returns the input that the commands get: this command's own, unless a person would type it.
fn input_of(exec: &Exec) -> Result<Option<Box<dyn Read + Send>>, Failure> {
    if exec.no_stdin || inherited::is_input_closed() {
        return Ok(None);
    }
    let own = inherited::input().or_nothing("cannot read standard input")?;
    Ok((!own.is_terminal()).then(|| Box::new(own) as Box<dyn Read + Send>))
}

/// Returns the command and its arguments, as nodes execute them.
fn words(exec: &Exec) -> Vec<Vec<u8>> {
    let words: Vec<Vec<u8>> = exec.command.iter().map(|word| word.as_bytes().to_vec()).collect();
    if exec.shell { vec![b"sh".to_vec(), b"-c".to_vec(), words.join(&b' ')] } else { words }
}

/// Fails if a command does not fit into a message to an agent.
fn refuse_too_long(command: &[Vec<u8>]) -> Result<(), Failure> {
    /// The room for what a message has beside the words, and for the length of each word.
    const AROUND: usize = 16;
    const AROUND_WORD: usize = 3;
    let length: usize = command.iter().map(|word| word.len() + AROUND_WORD).sum();
    if length + AROUND <= MAX_MESSAGE {
        return Ok(());
    }
    let message = format!("the command has {length} bytes; at most {} fit", MAX_MESSAGE - AROUND);
    Err(Failure::usage(message)
        .hint("copy a script to the nodes with garland cp, and execute that"))
}

fn reason(end: &CommandEnd) -> Option<String> {
    match end {
        CommandEnd::Exited(0) => None,
        CommandEnd::Exited(code @ 1..) => Some(format!("exit code {code}")),
        CommandEnd::Exited(signal) => Some(format!("killed by signal {}", signal.unsigned_abs())),
        CommandEnd::Failed(reason) => Some(reason.clone()),
        CommandEnd::Interrupted => Some("interrupted".to_owned()),
    }
}

/// Returns the result of a node. `output` is what its command wrote to standard output and to
/// standard error.
fn node_result(name: &str, end: &CommandEnd, output: &[Vec<u8>; 2]) -> NodeResult {
    NodeResult {
        name: name.to_owned(),
        end: NodeEnd::new(NodeVerdict::Failed, reason(end)),
        exit_code: match end {
            CommandEnd::Exited(code) => Some(*code),
            CommandEnd::Failed(_) | CommandEnd::Interrupted => None,
        },
        stdout: String::from_utf8_lossy(&output[0]).into_owned(),
        stderr: String::from_utf8_lossy(&output[1]).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_signals_have_reasons() {
        assert_eq!(reason(&CommandEnd::Exited(0)), None);
        assert_eq!(reason(&CommandEnd::Exited(2)).unwrap(), "exit code 2");
        assert_eq!(reason(&CommandEnd::Exited(-9)).unwrap(), "killed by signal 9");
    }
}
