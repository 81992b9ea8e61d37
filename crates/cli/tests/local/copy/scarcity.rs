//! Copies where the system lacks something: threads, descriptors, locks on files.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use garland_testkit::{RunOutput, Running, Scratch};

use crate::copy::{assert_copied, garland_in, locals, source};

/// Runs a program under a filter of the kernel by which `flock` fails with an error number, as on a
/// file system without locks.
const WITHOUT_LOCKS: &str = "
import ctypes, os, platform, struct, sys
flock = {'x86_64': 73, 'aarch64': 32}[platform.machine()]
code = b''.join(struct.pack('HBBI', *line) for line in [
    (0x20, 0, 0, 0), (0x15, 0, 1, flock), (0x06, 0, 0, 0x50000 | int(sys.argv[1])),
    (0x06, 0, 0, 0x7fff0000)])
room = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 4, ctypes.addressof(room)))
libc = ctypes.CDLL(None, use_errno=True)
pointer = ctypes.c_void_p(ctypes.addressof(program))
zero = ctypes.c_ulong(0)
assert libc.prctl(38, ctypes.c_ulong(1), zero, zero, zero) == 0
assert libc.prctl(22, ctypes.c_ulong(2), pointer, zero, zero) == 0, ctypes.get_errno()
os.execv(sys.argv[2], sys.argv[2:])
";

/// Runs `garland ARGUMENTS` behind other words, in its own environment.
fn behind(scratch: &Scratch, words: &[&str], program: &Path, arguments: &[&str]) -> RunOutput {
    let inner = garland_in(scratch).command(arguments);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program).args(arguments).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(scratch.folder());
    Running::start(command).end()
}

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_garland"))
}

#[test]
fn a_file_system_without_locks_is_copied_to_all_the_same() {
    let scratch = Scratch::new("no-locks");
    let from = source(&scratch, 3_000_001);
    std::fs::create_dir(scratch.path("tree")).expect("there is room");
    let large = random(&scratch.path("tree/large"), 9 << 20);
    for number in ["37", "38", "95"] {
        let words = ["python3", "-c", WITHOUT_LOCKS, number];
        let cp = ["cp", "--local-root", "roots", "--whole"];
        let file = [&cp[..], &["source.bin", "local[1-2]:/x"]].concat();
        let _ = behind(&scratch, &words, binary(), &file).with_code(0);
        assert_copied(&scratch, locals(2), "x", &from);
        let tree = [&cp[..], &["-r", "tree", "local[1-2]:/"]].concat();
        let _ = behind(&scratch, &words, binary(), &tree).with_code(0);
        for node in locals(2) {
            let got = std::fs::read(scratch.root(&node).join("tree/large"));
            assert!(got.expect("it was copied") == large, "{node}");
        }
    }
    scratch.assert_nothing_left();
}

fn random(path: &Path, length: u64) -> Vec<u8> {
    garland_testkit::random_file(path, length, 7);
    std::fs::read(path).expect("it was written")
}

/// Root has as many threads as it wants: another user is given few.
fn few_threads(limit: &str) -> Vec<String> {
    const USER: &str = "62017";
    let is_root = rustix_uid() == 0;
    let user = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"];
    let limit = format!("--nproc={limit}");
    let words = if is_root { &user[..] } else { &[] };
    words.iter().copied().chain(["prlimit", &limit]).map(str::to_owned).collect()
}

fn rustix_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(0, |own| own.uid())
}

#[test]
fn where_no_thread_can_be_made_a_copy_ends_with_an_error_and_not_with_a_panic() {
    let scratch = Scratch::new("no-threads");
    let _ = source(&scratch, 3_000_001);
    // Readable for the other user, wherever it was built.
    let program = scratch.path("garland");
    std::fs::copy(binary(), &program).expect("there is room");
    std::fs::create_dir(scratch.path("roots")).expect("there is room");
    std::fs::create_dir(scratch.state()).expect("there is room");
    if rustix_uid() == 0 {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(scratch.folder(), open).expect("it is ours");
        for path in [scratch.folder().to_owned(), scratch.path("roots"), scratch.state()] {
            chown(path, Some(62017), Some(62017)).expect("root may");
        }
    }
    let mut failed = 0;
    for limit in ["1", "4", "8", "12", "20"] {
        let words = few_threads(limit);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let cp = ["cp", "--local-root", "roots", "--whole", "source.bin", "local[1-3]:/x"];
        let said = behind(&scratch, &words, &program, &cp);
        let whole = format!("{}{}", said.out, said.err);
        assert!(!whole.contains("panicked") && said.code != 101, "{limit}: {whole}");
        assert!([0, 1, 3].contains(&said.code), "{limit}: {} {whole}", said.code);
        failed += usize::from(said.code != 0);
        if said.code != 0 {
            let words = ["starting", "resource temporarily unavailable", "thread", "gone"];
            assert!(words.iter().any(|word| whole.contains(word)), "{limit}: {whole}");
        }
    }
    assert!(failed > 0, "one thread is too few");
    scratch.assert_nobody_left();
}

#[test]
fn a_file_beyond_the_limit_of_a_process_names_that_limit() {
    let scratch = Scratch::new("file-limit");
    std::fs::create_dir(scratch.path("s")).expect("it can be made");
    let file = source(&scratch, 3 << 20);
    std::fs::hard_link(&file, scratch.path("s/big")).expect("it can be made");
    let roots = scratch.path("roots").display().to_string();
    let limit = ["prlimit", "--fsize=1048576"];
    for words in [["source.bin", "local1:/x"].as_slice(), &["-r", "s", "local1:/t/"]] {
        let cp = [&["cp", "--local-root", &roots], words].concat();
        let said = behind(&scratch, &limit, binary(), &cp).with_code(3);
        let reason = "file too large for the limit of its process (ulimit -f)";
        assert!(said.out.contains(reason), "{}{}", said.out, said.err);
    }
    scratch.assert_nobody_left();
}

#[test]
fn an_agent_may_open_as_many_files_as_the_user_may_and_its_commands_as_many_as_before() {
    let scratch = Scratch::new("descriptors");
    let program = binary();
    let limits = "ulimit -S -n; sed -n 's/^Max open files *//p' /proc/$PPID/limits";
    let exec = ["exec", "local1", "--", "sh", "-c", limits];
    let words = ["prlimit", "--nofile=300:5000"];
    let said = behind(&scratch, &words, program, &exec).with_code(0);
    let lines: Vec<&str> = said.out.lines().map(|line| line.trim_end()).collect();
    assert_eq!(lines[0], "300", "{}", said.out);
    let agents: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(agents[..2], ["5000", "5000"], "{}", said.out);
}
