//! The engine `parallel`: runs jobs with GNU parallel, which logs in over ssh for every job.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use garland_control::{CommandEnd, CommandNews, run_command};
use garland_core::cluster::{Node, Ssh};
use garland_core::farm::job::quoted;
use garland_core::farm::{Engine, Job};
use garland_protocol::dispatch::Round;
use garland_sys::channel::{RecvTimeoutError, channel};
use garland_sys::{private_file, process, random, signal, threads};

use super::driver::{Driver, Ending, Work};
use super::ledger::Ledger;
use super::rounds::EngineRun;
use super::task::JobFiles;
use super::worker::{SingleJob, WorkEnd, word_of};
use crate::args::DataName;
use garland_fleet::builder::FleetBuilder;
use garland_fleet::launch::FAREWELL;
use garland_terminal::failure::{Failure, OrFailure};

/// The longest line with the end of a job in bytes: twice [`OUTPUT_HALF`](garland_protocol::OUTPUT_HALF)
/// of output, of which each byte may be escaped, and the rest.
const LINE_MAX: u64 = 256 << 10;

/// The interval at which interrupts are polled.
const POLL: Duration = Duration::from_millis(100);

/// A shell script for each node. It creates a link to the agent's program at a path that is the
/// same on all nodes, and prints the program's name, the number of CPUs and the host name. The link
/// is needed because the path of the program contains the host name, since homes may be shared.
const WHERE: &str = "program=$(readlink /proc/$PPID/exe) && cd && mkdir -p .cache/garland && \
    ln -sfn \"$program\" .cache/garland/farm-\"${program##*/}\" && echo \"${program##*/}\" && nproc && uname -n";

/// The engine that runs jobs with GNU parallel.
pub struct Parallel;

/// A node that accepts ssh logins.
struct Login {
    name: String,
    /// The host name or address for ssh.
    host: String,
    /// The host name that the node itself reports.
    own_name: String,
    program: String,
    cores: u32,
}

impl Driver for Parallel {
    fn run(&self, work: &Work<'_>, jobs: Vec<Job>, ledger: &mut Ledger) -> Result<Ending, Failure> {
        if work.settings.data != DataName::There {
            return Err(Failure::usage("the engine parallel supports only `--data there`")
                .hint("to copy files to nodes: --engine agents --data stage"));
        }
        let version = Command::new("parallel").arg("--version").stdin(Stdio::null()).output();
        let is_gnu = version.is_ok_and(|said| said.stdout.starts_with(b"GNU parallel"));
        if !is_gnu {
            return Err(Failure::nothing("GNU parallel is not installed on this machine")
                .hint("install it, or use --engine agents, which needs no other program"));
        }
        let list = work.settings.nodes.as_deref().unwrap_or_default();
        let nodes = work.inventory.nodes(list)?;
        let logins = install_program(work, &nodes)?;
        EngineRun::new(work, Engine::Parallel, jobs, ledger).go(&mut |rounds, round| {
            let avoid = round.avoid(logins.iter().map(|login| &login.name));
            let left: Vec<&Login> =
                logins.iter().filter(|login| !avoid.contains(&login.name)).collect();
            one_round(work, &left, rounds, round)
        })
    }
}

/// Installs this program on the nodes, in the same way as for copies. Returns the nodes that accept
/// logins.
fn install_program(work: &Work<'_>, nodes: &[Node]) -> Result<Vec<Login>, Failure> {
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(work.interrupts)),
        quiet: work.asked.quiet || work.context.json,
        ..FleetBuilder::new(nodes, work.inventory, work.places, &work.asked.launch, work.run, None)
    };
    let fleet = builder.assemble()?;
    let mut outputs = vec![Vec::new(); nodes.len()];
    let asked = ["sh", "-c", WHERE].map(|word| word.as_bytes().to_vec());
    let ends = run_command(fleet.agents, &asked, Some(work.interrupts), &mut |at, news| {
        if let CommandNews::Output(_, bytes) = news {
            outputs[at].extend(bytes);
        }
    });
    let ends = ends.or_nothing("cannot prepare the nodes")?;
    fleet.children.end(FAREWELL, |_| false);
    let mut logins = Vec::new();
    for ((node, end), output) in nodes.iter().zip(&ends).zip(&outputs) {
        let text = String::from_utf8_lossy(output);
        let mut lines = text.lines();
        let program = lines.next().map(str::to_owned);
        let cores = lines.next().and_then(|cores| cores.parse().ok());
        let own_name = lines.next().map(str::to_owned);
        match (end, program, cores, own_name) {
            (CommandEnd::Exited(0), Some(program), Some(cores), Some(own_name)) => {
                let (name, host) = (node.name.clone(), node.host.clone());
                logins.push(Login { name, host, own_name, program, cores });
            }
            (CommandEnd::Failed(why), ..) => {
                garland_terminal::errln!("lost    {}: {why}", node.name)
            }
            _ => garland_terminal::errln!("lost    {}: {}", node.name, text.trim()),
        }
    }
    if logins.is_empty() {
        return Err(Failure::nothing("no node can be reached over ssh"));
    }
    Ok(logins)
}

/// Returns the value of `--sshlogin` for a host that runs `slots` jobs at a time.
fn sshlogin(ssh: Option<&Ssh>, host: &str, slots: u32) -> String {
    let options: String = ssh.map_or_else(String::new, |ssh| {
        let quote = |option: &String| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:@%+".contains(&byte);
            match option.bytes().all(plain) {
                true => format!(" {option}"),
                false => format!(" {}", String::from_utf8_lossy(&quoted(option.as_bytes()))),
            }
        };
        ssh.options.iter().map(quote).collect()
    });
    let user = ssh.and_then(|ssh| ssh.user.as_ref()).filter(|_| !host.contains('@'));
    let user = user.map_or_else(String::new, |user| format!("{user}@"));
    format!("{slots}/ssh{options} {user}{host}")
}

/// Replaces the host name in `end` by the node's name, if exactly one login has this host name.
fn renamed(end: WorkEnd, logins: &[&Login]) -> WorkEnd {
    let mut known = logins.iter().filter(|login| login.own_name == end.node);
    match (known.next(), known.next()) {
        (Some(login), None) => WorkEnd { node: login.name.clone(), ..end },
        _ => end,
    }
}

/// The ends of jobs that GNU parallel may print, each once: their tokens, by the numbers of the jobs.
struct Expected(HashMap<u32, String>);

impl Expected {
    /// Creates tokens for the jobs of a round.
    fn new(round: &Round) -> Self {
        let token = || random::bytes::<16>().map(|byte| format!("{byte:02x}")).concat();
        Self(round.jobs.iter().map(|job| (job.number, token())).collect())
    }

    /// Passes the ends of jobs in `output` to `tell`, until it returns false. Other lines are printed
    /// by login shells, or by nodes that want to end the jobs of others.
    fn read(mut self, mut output: impl BufRead, mut tell: impl FnMut(WorkEnd) -> bool) {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut output).take(LINE_MAX).read_until(b'\n', &mut line);
            if !matches!(read, Ok(read) if read > 0) {
                return;
            }
            let Ok(end) = serde_json::from_slice::<WorkEnd>(&line) else { continue };
            let is_own = self.0.get(&end.end.job).is_some_and(|token| *token == end.token);
            if is_own {
                self.0.remove(&end.end.job);
                if !tell(end) {
                    return;
                }
            }
        }
    }
}

/// Starts GNU parallel with the jobs of a round.
fn start(
    work: &Work<'_>,
    logins: &[&Login],
    round: &Round,
    expected: &Expected,
) -> Result<(Child, ChildStdout), Failure> {
    let list = work.run.folder().join(format!("round-{}", round.tries));
    let mut lines = String::new();
    for job in &round.jobs {
        let task = JobFiles::There.task(job, round.tries, false);
        let token = expected.0.get(&job.number).cloned().unwrap_or_default();
        lines.push_str(&word_of(&SingleJob { task, token })?);
        lines.push('\n');
    }
    let written = private_file::replace_unsynced(&list, lines.as_bytes());
    written.or_nothing(format!("cannot write {}", list.display()))?;
    let mut command = Command::new("parallel");
    command.args(["--plain", "--will-cite"]).arg("--arg-file").arg(&list);
    let ssh = work.inventory.cluster().map(|cluster| &cluster.ssh);
    for login in logins {
        let slots = work.settings.slots.unwrap_or(login.cores);
        command.arg("--sshlogin").arg(sshlogin(ssh, &login.host, slots));
    }
    let program = String::from_utf8_lossy(&quoted(logins[0].program.as_bytes())).into_owned();
    command.arg(format!("\"$HOME\"/.cache/garland/farm-{program} farm work --task {{}}"));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.process_group(0);
    signal::release_in(&mut command);
    let mut child = command.spawn().or_nothing("cannot run GNU parallel")?;
    let output = child
        .stdout
        .take()
        .ok_or_else(|| Failure::nothing("cannot read the output of GNU parallel"))?;
    Ok((child, output))
}

/// Runs all jobs of a round with GNU parallel. Returns whether the user interrupted the round.
fn one_round(
    work: &Work<'_>,
    logins: &[&Login],
    rounds: &mut EngineRun<'_, '_>,
    round: &Round,
) -> Result<bool, Failure> {
    let expected = Expected::new(round);
    let (mut child, output) = start(work, logins, round, &expected)?;
    let (tell, told) = channel();
    let begun = threads::spawn("parallel", move || {
        expected.read(BufReader::new(output), |end| tell.send(end).is_ok());
    });
    if let Err(error) = begun {
        process::kill_group(child.id());
        // It was killed, so this does not block.
        let _ = child.wait();
        return Err(error)
            .or_nothing("cannot start the thread that reads the output of GNU parallel");
    }
    let interrupted = loop {
        match told.recv_timeout(POLL) {
            Ok(end) => {
                rounds.ended(renamed(end, logins));
                told.try_iter().for_each(|end| rounds.ended(renamed(end, logins)));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break false,
        }
        rounds.commit()?;
        if work.interrupts.have_come() {
            process::kill_group(child.id());
            break true;
        }
    };
    child.wait().or_nothing("cannot wait for GNU parallel")?;
    Ok(interrupted)
}

#[cfg(test)]
mod tests {
    use garland_core::farm::Outcome;
    use garland_protocol::TaskEnd;

    use super::*;

    #[test]
    fn a_node_ends_only_the_jobs_that_it_got_and_each_once() {
        let end = |job, token: &str| {
            let end = TaskEnd {
                job,
                started_ns: 0,
                ended_ns: 1,
                outcome: Outcome::Exit(0),
                cpu_ns: 0,
                memory: 0,
                bytes_out: 0,
                last_words: Vec::new(),
            };
            let line = WorkEnd {
                node: "n".to_owned(),
                ahead_ns: 0,
                end,
                again: 0,
                said: None,
                token: token.to_owned(),
            };
            serde_json::to_string(&line).unwrap() + "\n"
        };
        let expected = Expected(HashMap::from([(1, "a".to_owned()), (2, "b".to_owned())]));
        let noise = format!("{}\n", "x".repeat(3 * LINE_MAX as usize));
        let lines = [
            end(2, "a"),
            end(2, ""),
            end(3, ""),
            noise,
            "welcome\n".to_owned(),
            end(1, "a"),
            end(1, "a"),
            end(2, "b"),
        ];
        let mut ended = Vec::new();
        expected.read(lines.concat().as_bytes(), |end| {
            ended.push(end.end.job);
            true
        });
        assert_eq!(ended, [1, 2]);
    }

    #[test]
    fn logins_have_the_users_and_options_of_the_cluster_file() {
        assert_eq!(sshlogin(None, "n1", 2), "2/ssh n1");
        let options = vec!["-F".to_owned(), "/a b/config".to_owned()];
        let ssh = Ssh { user: Some("me".to_owned()), options, ..Ssh::default() };
        assert_eq!(sshlogin(Some(&ssh), "10.0.0.1", 2), "2/ssh -F '/a b/config' me@10.0.0.1");
        let login = sshlogin(Some(&ssh), "you@10.0.0.1", 4);
        assert_eq!(login, "4/ssh -F '/a b/config' you@10.0.0.1");
    }
}
