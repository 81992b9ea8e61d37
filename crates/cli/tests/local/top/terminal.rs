//! The screen, in a real terminal: tmux's.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use garland_testkit::{Scratch, await_some, until};

use super::garland_in;
use super::work::Work;

/// A terminal in which a shell runs a script.
struct Terminal {
    socket: PathBuf,
}

impl Terminal {
    /// Runs `script` in `scratch` in a terminal of 120 columns and 40 rows.
    fn open(scratch: &Scratch, script: &str) -> Self {
        let terminal = Self { socket: scratch.path("tmux") };
        fs::write(scratch.path("script"), script).expect("it can be written");
        let size = ["-x", "120", "-y", "40"];
        let words = ["-f", "/dev/null", "new-session", "-d"];
        terminal.tmux(&[&words[..], &size, &["sh", "script"]].concat(), Some(scratch));
        terminal
    }

    fn tmux(&self, words: &[&str], here: Option<&Scratch>) -> String {
        let mut command = Command::new("tmux");
        // UTF-8, whatever the environment says.
        command.arg("-u").arg("-S").arg(&self.socket).args(words).env("LC_ALL", "C.UTF-8");
        if let Some(scratch) = here {
            command.current_dir(scratch.folder());
        }
        let said = command.output().expect("tmux is there");
        assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).expect("it speaks UTF-8")
    }

    fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat(), None);
    }

    /// What it shows.
    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"], None)
    }

    /// Waits until it shows all of `wanted`.
    fn await_shown(&self, wanted: &[&str]) -> String {
        let mut shown = String::new();
        await_some(&format!("{wanted:?} on the terminal"), || {
            shown = self.shown();
            wanted.iter().all(|part| shown.contains(part)).then(|| shown.clone())
        })
    }
}

impl Drop for Terminal {
    /// Ends it and what runs in it.
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

#[test]
fn the_terminal_shows_nodes_lanes_and_jobs_and_is_what_it_was_afterwards() {
    let scratch = Scratch::new("top-terminal");
    let garland = garland_in(&scratch);
    let work = Work::begin(&garland, &scratch);
    let script = format!(
        "export GARLAND_STATE='{}'; cd '{}'; echo said before; stty -g > before\n\
         '{}' top --local-root roots 'local[1-2]'; echo \"ended by $?\"; stty -g > after\n\
         read line\n",
        scratch.state().display(),
        scratch.folder().display(),
        env!("CARGO_BIN_EXE_garland"),
    );
    let terminal = Terminal::open(&scratch, &script);
    let shown = terminal.await_shown(&[
        " 1 nodes: 2 ",
        " 2 lanes on all nodes: 2, of 1 copy ",
        " 3 running jobs: 2 ",
        "/copied",
        "upstream ",
        "until [ -e ",
        "q end",
    ]);
    let about = |name: &str| shown.lines().filter(|line| line.contains(name)).count();
    assert_eq!((about("local1"), about("local2")), (3, 3), "{shown}");
    assert!(!shown.contains("said before"), "{shown}");
    terminal.press(&["2", "z"]);
    until("the lanes alone", || {
        let shown = terminal.shown();
        shown.contains(" 2 lanes")
            && !shown.contains(" 1 nodes")
            && !shown.contains(" 3 running jobs")
    });
    terminal.press(&["Escape", "h"]);
    terminal.await_shown(&["┌ keys ", " 3 running jobs"]);
    terminal.press(&["h"]);
    // As narrow as terminals get: what has no room is counted or marked.
    terminal.tmux(&["resize-window", "-x", "40", "-y", "12"], None);
    terminal.await_shown(&["1 nodes: 2", "…", "more ─"]);
    terminal.tmux(&["resize-window", "-x", "120", "-y", "40"], None);
    work.end();
    terminal.await_shown(&["no copy is running", "jobs: none"]);
    // Its own agents are the only ones that are left.
    garland.agent("local2").kill();
    terminal.await_shown(&["1 without data"]);
    terminal.press(&["q"]);
    let shown = terminal.await_shown(&["said before", "ended by 1"]);
    assert!(shown.contains("failed  local2: ") && !shown.contains("nodes: 2"), "{shown}");
    let kept = |name: &str| fs::read_to_string(scratch.path(name)).unwrap_or_default();
    until("the terminal's settings", || !kept("after").is_empty());
    assert_eq!(kept("before"), kept("after"));
    terminal.press(&["Enter"]);
    drop(terminal);
    scratch.assert_nothing_left();
}
