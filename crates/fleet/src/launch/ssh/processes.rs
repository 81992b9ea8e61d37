//! Asks a node, by a login, for the processes of its standing agent, and ends them.

use std::path::Path;

use garland_core::cluster::{Node, Ssh};

use super::complaint;
use super::login::login;
use super::shown::ShownLogin;
use crate::launch::bootstrap;
use crate::launch::error::{LaunchError, cannot};
use crate::launch::{StartTerms, Starting};

/// The script that runs on the node, with its comments.
const SCRIPT: &str = include_str!("processes.sh");

/// What is done with the processes that are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessAction {
    /// They go on.
    Find,
    /// They are ended, by SIGTERM or by SIGKILL.
    End,
}

/// The numbers of an agent's processes on its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundProcesses {
    /// Those that were ended.
    pub ended: Vec<u32>,
    /// Those that run.
    pub running: Vec<u32>,
}

/// Looks on `node` for the processes with `tag` among their arguments. Messages of ssh are appended
/// to the file `log`.
///
/// # Errors
/// When the node cannot be logged in to, or does not tell its processes.
pub fn on_node(
    ssh: &Ssh,
    node: &Node,
    tag: &str,
    action: ProcessAction,
    log: &Path,
) -> Result<FoundProcesses, LaunchError> {
    let word = match action {
        ProcessAction::Find => "find",
        ProcessAction::End => "end",
    };
    let script = bootstrap::quote(&bootstrap::one_line(SCRIPT))?;
    let command = login(ssh, node, &format!("exec /bin/sh -c {script} garland {word}"));
    let terms = StartTerms { is_elsewhere: true, ..StartTerms::default() };
    let mut starting = Starting::start(command, log, &terms)
        .map_err(cannot("run ssh", "; install the OpenSSH client"))?;
    if let Some(input) = starting.input() {
        input.write_all(format!("{tag}\n").as_bytes())?;
    }
    let mut found = FoundProcesses::default();
    let mut has_begun = false;
    // The login has a minute in all: a node that must be left cannot keep this from its end.
    loop {
        let line = starting.next_line().map_err(|error| match error {
            LaunchError::Ended(words) => {
                let login = ShownLogin::new(ssh, node);
                LaunchError::Ended(complaint::reason(&words, &login, has_begun))
            }
            error => error,
        })?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "ENDED" => {
                has_begun = true;
                found.ended = numbers(rest);
            }
            "PROCESSES" => {
                found.running = numbers(rest);
                return Ok(found);
            }
            "UNKNOWN" => return Err(LaunchError::Refused(rest.to_owned())),
            // Login shells print other lines.
            _ => {}
        }
    }
}

fn numbers(words: &str) -> Vec<u32> {
    words.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs the script in a shell of this machine. Returns its output.
    fn run(shell: &str, tag: &str, word: &str) -> String {
        run_with(Command::new(shell), shell, tag, word)
    }

    fn run_with(mut command: Command, shell: &str, tag: &str, word: &str) -> String {
        if shell == "busybox" {
            command.arg("sh");
        }
        command.args(["-c", &bootstrap::one_line(SCRIPT), "garland", word]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect(shell);
        let mut input = child.stdin.take().expect("a pipe");
        writeln!(input, "{tag}").expect("it reads a line");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8(output.stdout).expect("a text")
    }

    #[test]
    fn a_shell_finds_the_processes_of_a_tag_and_ends_them() {
        assert!(bootstrap::quote(&bootstrap::one_line(SCRIPT)).is_ok(), "it is quoted");
        for shell in ["dash", "bash", "busybox"] {
            if Command::new(shell).args(["-c", "true"]).output().is_err() {
                continue;
            }
            let tag = format!("{:016x}", std::process::id());
            assert_eq!(run(shell, &tag, "end"), "PROCESSES\n", "{shell}");
            let mut agent = Command::new("sh");
            agent.args(["-c", "read end", "agent", &tag]).stdin(Stdio::piped());
            let mut agent = agent.spawn().expect("it starts");
            let pid = agent.id();
            assert_eq!(run(shell, &tag, "find"), format!("PROCESSES {pid}\n"), "{shell}");
            // Nobody has waited for it yet: a zombie does not run.
            let ended = run(shell, &tag, "end");
            assert_eq!(ended, format!("ENDED {pid}\nPROCESSES\n"), "{shell}");
            agent.wait().expect("it has ended");
            assert_eq!(run(shell, &tag, "find"), "PROCESSES\n", "{shell}");
            assert!(run(shell, "short", "find").starts_with("UNKNOWN"), "{shell}");
        }
    }

    #[test]
    fn a_look_that_fails_does_not_say_that_no_process_runs() {
        // Without grep, and with one that cannot be executed as with too many arguments.
        let folder = format!("garland-processes-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir(&folder).expect("a new directory");
        std::os::unix::fs::symlink("/usr/bin/id", folder.join("id")).expect("a link");
        for has_grep in [false, true] {
            if has_grep {
                std::fs::write(folder.join("grep"), "no program").expect("it has room");
            }
            // One of them is there.
            let shells = ["/usr/bin/dash", "/usr/bin/bash"];
            for shell in shells.into_iter().filter(|shell| Path::new(shell).exists()) {
                let mut command = Command::new(shell);
                command.env("PATH", &folder).stderr(Stdio::null());
                let said = run_with(command, shell, "0123456789abcdef", "find");
                assert!(said.starts_with("UNKNOWN grep "), "{shell}: {said}");
            }
        }
        std::fs::remove_dir_all(folder).expect("it is this test's");
    }
}
