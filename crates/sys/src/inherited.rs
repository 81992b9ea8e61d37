//! What this process was given by the one that started it: which standard descriptors were closed,
//! and which signals were ignored. It is looked at before `main`: the Rust runtime opens
//! `/dev/null` in place of closed descriptors and ignores SIGPIPE, after which nobody can tell.

use std::io::{self, Stdin, Stdout};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The highest number of a signal.
const SIGNAL_MAX: i32 = 64;

/// The signals whose disposition the runtime or this program changes. Programs of users get the
/// original one.
const CHANGED: [i32; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// The standard descriptors that were closed: bit N for the descriptor N.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The signals that were ignored: bit N - 1 for the signal N.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// Makes the loader call [`look`] before `main`.
#[used]
// SAFETY: the section holds pointers to functions, which are called before `main`, and this is one.
// What it calls needs nothing that the runtime has yet to initialise.
#[unsafe(link_section = ".init_array")]
static LOOK_BEFORE_MAIN: extern "C" fn() = look;

extern "C" fn look() {
    for descriptor in 0..=2 {
        // SAFETY: F_GETFD changes nothing, whatever the descriptor.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
    let ignored = (1..=SIGNAL_MAX).filter(|signal| is_ignored(*signal));
    IGNORED.store(ignored.fold(0, |bits, signal| bits | bit(signal)), Ordering::Relaxed);
}

/// Returns whether this process ignores the signal now.
fn is_ignored(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call changes nothing; it writes to `now`, which is valid.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: all bytes of `now` are initialised, and zeros are valid in each field.
    asked == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Returns whether the standard input was closed.
pub fn is_input_closed() -> bool {
    open_at_start(0, "standard input").is_err()
}

/// Returns the standard input.
///
/// # Errors
/// When it was closed. It must not be taken for an empty one, which may replace a file.
pub fn input() -> io::Result<Stdin> {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that looks whether it was closed"
    )]
    open_at_start(0, "standard input").map(|()| io::stdin())
}

/// Returns the standard output, for data that must not be lost. Messages may go to a closed output,
/// and are dropped there.
///
/// # Errors
/// When it was closed.
pub fn output() -> io::Result<Stdout> {
    open_at_start(1, "standard output").map(|()| io::stdout())
}

/// Closes the standard output, so that whoever reads it sees its end. The standard input takes its
/// place: a file that is opened later must not.
///
/// # Errors
/// When there is no standard input.
pub fn close_output() -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdout(rustix::stdio::stdin())?)
}

fn open_at_start(descriptor: u8, name: &str) -> io::Result<()> {
    match CLOSED.load(Ordering::Relaxed) & (1 << descriptor) {
        0 => Ok(()),
        _ => Err(io::Error::other(format!("{name} is closed"))),
    }
}

/// Returns whether the signal was ignored when this process was started, as by nohup(1) or by a
/// shell that runs a command in the background.
#[must_use]
pub fn ignores(signal: i32) -> bool {
    IGNORED.load(Ordering::Relaxed) & bit(signal) != 0
}

/// Makes this process, and the programs that it starts, take signals that were ignored at its
/// start. An agent that was started with nohup(1) must not run the commands of others so.
pub fn stop_ignoring() {
    let ignored = IGNORED.swap(0, Ordering::Relaxed);
    let ignored = (1..=SIGNAL_MAX).filter(|signal| ignored & bit(*signal) != 0);
    for signal in ignored.filter(|signal| !CHANGED.contains(signal)) {
        // SAFETY: SIG_DFL is a valid disposition; a signal that cannot have it is left alone.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Makes writes beyond the limit of the length of files (`ulimit -f`) fail with an error, as on a
/// full disk, instead of killing this process without a word.
pub fn survive_file_limit() {
    // SAFETY: SIG_IGN is a valid disposition of this signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Gives the process that `command` starts the dispositions that this one was started with, of the
/// signals that this program treats in another way.
pub(crate) fn restore_in(command: &mut Command) {
    let dispositions = CHANGED.map(|signal| {
        let disposition = if ignores(signal) { libc::SIG_IGN } else { libc::SIG_DFL };
        (signal, disposition)
    });
    // SAFETY: between fork and exec only signal(2) is called, which is allowed there.
    unsafe {
        command.pre_exec(move || {
            for (signal, disposition) in dispositions {
                libc::signal(signal, disposition);
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set for the test program that is to tell what it sees.
    const ASKED: &str = "GARLAND_TEST_SEEN";

    /// Runs this test program with the test `seen` only, started as the shell's `line` says, and
    /// returns what it printed.
    fn seen_when(line: &str) -> String {
        let test = format!("{}::seen", module_path!().split_once("::").unwrap().1);
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).arg(std::env::current_exe().unwrap());
        shell.args([&test, "--exact", "--nocapture"]).env(ASKED, "1");
        let said = shell.output().unwrap();
        String::from_utf8_lossy(&said.stdout)
            .lines()
            .filter(|line| line.starts_with("seen"))
            .collect()
    }

    #[test]
    fn seen() {
        if std::env::var_os(ASKED).is_none() {
            return;
        }
        survive_file_limit();
        let restored = |signal: &str| {
            let mut command = Command::new("sh");
            restore_in(command.args(["-c", &format!("kill -{signal} $$; echo alive")]));
            !command.output().unwrap().stdout.is_empty()
        };
        let closed = [input().map(drop), output().map(drop)];
        let closed = closed.map(|it| it.map_or_else(|error| error.to_string(), |()| "open".into()));
        let ignored = [libc::SIGHUP, libc::SIGINT].map(ignores);
        println!("\nseen {closed:?} {ignored:?} {} {}", restored("XFSZ"), restored("PIPE"));
        stop_ignoring();
        assert!(!ignores(libc::SIGHUP) && !is_ignored(libc::SIGHUP));
    }

    #[test]
    fn closed_descriptors_and_ignored_signals_are_known() {
        let usual = seen_when("exec \"$0\" \"$@\"");
        assert_eq!(usual, r#"seen ["open", "open"] [false, false] false false"#);
        let closed = seen_when("exec \"$0\" \"$@\" <&-");
        assert_eq!(
            closed,
            r#"seen ["standard input is closed", "open"] [false, false] false false"#
        );
        let empty = seen_when("exec \"$0\" \"$@\" </dev/null");
        assert_eq!(empty, usual);
        let ignored = seen_when("trap '' HUP PIPE XFSZ; exec \"$0\" \"$@\"");
        assert_eq!(ignored, r#"seen ["open", "open"] [true, false] true true"#);
    }
}
