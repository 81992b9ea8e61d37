//! Tests of the bootstrap script in the shells of this machine: it runs only programs that it has
//! checked.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use aws_lc_rs::digest::{SHA256, digest};

use super::{SEND, hexadecimal, script};

/// As many zeros are packed a thousand times smaller.
const ZEROS: u64 = 32 << 20;

/// An emulated node: its home directory, and its shell.
struct Node {
    home: PathBuf,
    shell: &'static str,
}

/// Returns a program that prints `word` and its first argument. It is as long as an ELF header at
/// least, and zero at the offsets that are zeroed in the program for nodes.
fn program(word: &str) -> Vec<u8> {
    let mut bytes = format!("#!/bin/sh\necho {word} $1\nexit\n").into_bytes();
    assert!(bytes.len() <= 40, "a short word");
    bytes.resize(80, 0);
    bytes
}

fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest(&SHA256, bytes).as_ref())
}

/// Runs `act` with a node for each shell.
fn everywhere(name: &str, act: impl Fn(&Node)) {
    for shell in ["dash", "bash", "busybox"] {
        if Command::new(shell).args(["-c", "true"]).output().is_err() {
            continue;
        }
        let home = format!("garland-shells-{name}-{shell}-{}", std::process::id());
        let home = std::env::temp_dir().join(home);
        fs::create_dir(&home).expect("a new directory");
        let node = Node { home, shell };
        act(&node);
        // The script uses it if the home directory is unusable.
        let _ = fs::remove_dir_all(node.shared_memory());
        fs::remove_dir_all(&node.home).expect("it was made above");
    }
}

impl Node {
    /// Returns the script's directory in /dev/shm, which is named after the node's user.
    fn shared_memory(&self) -> PathBuf {
        let user = self.home.file_name().expect("it has a name").to_string_lossy();
        Path::new("/dev/shm").join(format!("garland-{user}"))
    }

    /// Runs the script, where the head's program is `ours`. `places` are the user's path, the path
    /// that is shared with the head, and its length and time; `others` are accepted digests at the
    /// user's path. The head sends `sent`. Returns the output.
    fn run(&self, ours: &[u8], places: [&str; 3], others: &str, sent: &[u8]) -> String {
        let mut child = self.start(&sha256(ours), sent.len(), places, others);
        let mut input = child.stdin.take().expect("it is piped");
        // Fails if the script needs no program and does not read this.
        let _ = input.write_all(&[SEND, sent].concat());
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Starts the script, where the head's program has the digest `digest`, and `length` bytes of
    /// it are sent. For the others see [`run`](Self::run).
    fn start(&self, digest: &str, length: usize, places: [&str; 3], others: &str) -> Child {
        let mut command = Command::new(self.shell);
        if self.shell == "busybox" {
            command.arg("sh");
        }
        let length = length.to_string();
        command.args(["-c", &script(), "garland", digest, &length]).args(places).arg(others);
        let path = format!("{}:/usr/bin:/bin", self.home.join("bin").display());
        command.arg("agent").current_dir(&self.home).env_clear();
        command.env("PATH", path).env("HOME", &self.home).env("TMPDIR", self.home.join("tmp"));
        command.env("LOGNAME", self.home.file_name().expect("it has a name"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the shell was found")
    }

    /// Runs the script without a user's or shared path; the head sends `ours`.
    fn launch(&self, ours: &[u8]) -> String {
        self.run(ours, ["-", "-", "-"], "-", ours)
    }

    /// Returns the path at which the script stores the program `ours`.
    fn kept(&self, ours: &[u8]) -> PathBuf {
        let boots = fs::read_dir(self.home.join(".cache/garland")).expect("it keeps programs");
        let boot = boots.flatten().next().expect("this boot's").path();
        boot.join(sha256(ours))
    }

    fn put(&self, name: &str, bytes: &[u8], mode: u32) -> String {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
        fs::write(&path, bytes).expect("it can be written");
        set_mode(&path, mode);
        path.to_str().expect("it is text").to_owned()
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is this user's");
}

#[test]
fn a_stored_program_is_run_again_if_it_is_unchanged() {
    everywhere("kept", |node| {
        let ours = program("ours");
        let evil = program("evil");
        let first = node.launch(&ours);
        assert!(first.contains("NEED ") && first.ends_with("ours agent\n"), "{first}");
        let again = node.launch(&ours);
        assert!(!again.contains("NEED ") && again.ends_with("ours agent\n"), "{again}");
        // A file with other bytes, or writable by others, is replaced.
        let kept = node.kept(&ours);
        for (bytes, mode) in [(&evil, 0o700), (&ours, 0o722), (&ours, 0o770)] {
            fs::write(&kept, bytes).expect("it can be written");
            set_mode(&kept, mode);
            let said = node.launch(&ours);
            assert!(said.contains("NEED ") && said.ends_with("ours agent\n"), "{said}");
            assert!(!said.contains("evil"), "{said}");
            assert_eq!(fs::read(&kept).expect("it is kept"), ours);
            assert_eq!(fs::metadata(&kept).expect("it is kept").mode() & 0o777, 0o700);
        }
    });
}

#[test]
fn what_another_node_packs_tightly_does_not_fill_the_disk() {
    everywhere("bomb", |node| {
        let packed = format!("head -c {ZEROS} /dev/zero | gzip -9 -n");
        let line = Command::new("sh").args(["-c", &packed]).output().expect("gzip");
        let path = node.put("packed", &line.stdout, 0o600);
        let length = line.stdout.len();
        let mut child = node.start(&sha256(b"ours"), length, ["-", "-", "-"], "-");
        let mut input = child.stdin.take().expect("it is piped");
        // In the place of the program that connects to the node.
        write!(input, "PEER 9\ncat {path}\nticket\n").expect("it is read");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let told = lines.any(|line| line.is_ok_and(|line| line == "UNSERVED other bytes came"));
        assert!(told, "{}", node.shell);
        let folder = node.kept(b"ours");
        let entries = fs::read_dir(folder.parent().expect("a directory")).expect("it can be read");
        let lengths = entries.map(|entry| entry.and_then(|entry| entry.metadata()));
        let stored: u64 = lengths.map(|meta| meta.expect("it exists").len()).sum();
        assert!(stored <= 20 * length as u64, "{stored} bytes of {length}");
        drop(input);
        let _ = child.wait().expect("it ends");
    });
}

#[test]
fn nothing_is_stored_where_others_can_give_the_directory_away() {
    everywhere("open", |node| {
        let ours = program("ours");
        let above = node.home.join(".cache");
        fs::create_dir(&above).expect("a new directory");
        set_mode(&above, 0o777);
        let said = node.launch(&ours);
        let other = format!("stored in {}", node.shared_memory().display());
        assert!(said.contains(&other) && said.contains("ours agent\n"), "{said}");
        fs::remove_dir_all(node.shared_memory()).expect("it was made");
        // The sticky bit keeps others from renaming it.
        set_mode(&above, 0o1777);
        let said = node.launch(&ours);
        assert!(!said.contains("stored in") && said.ends_with("ours agent\n"), "{said}");
        assert!(node.kept(&ours).exists());
    });
}

#[test]
fn a_file_that_replaces_the_program_after_the_check_does_not_run() {
    everywhere("swapped", |node| {
        let ours = program("ours");
        let evil = program("evil");
        let _ = node.launch(&ours);
        let kept = node.kept(&ours);
        let evil = node.put("evil", &evil, 0o700);
        // The tool that computes the digest replaces the file, between check and use.
        let swap = format!(
            "#!/bin/sh\n/usr/bin/sha256sum\ncp {evil} {evil}.new\nmv {evil}.new {}\n",
            kept.display()
        );
        for tool in ["openssl", "sha256sum"] {
            let _ = node.put(&format!("bin/{tool}"), swap.as_bytes(), 0o700);
        }
        let said = node.launch(&ours);
        assert!(said.ends_with("ours agent\n") && !said.contains("evil"), "{said}");
        let swapped = fs::read_to_string(&kept).expect("the file exists");
        assert!(swapped.contains("evil"), "nothing was swapped");
    });
}

#[test]
fn a_file_at_the_heads_own_path_is_run_only_if_it_is_the_heads_program() {
    everywhere("shared", |node| {
        let ours = program("ours");
        let evil = program("evil");
        // The head's own file has sections at its end, and their offsets in its header.
        let mut file = ours.clone();
        file[40] = 7;
        file[60] = 7;
        file.extend(b"sections");
        for (bytes, is_ours) in [(&file, true), (&[&evil[..], b"sections"].concat(), false)] {
            let path = node.put("shared/garland", bytes, 0o755);
            let meta = fs::metadata(&path).expect("it was written");
            let stamp = format!("{}.{}", meta.len(), meta.mtime());
            let said = node.run(&ours, ["-", &path, &stamp], "-", &ours);
            assert!(said.ends_with("ours agent\n") && !said.contains("evil"), "{said}");
            assert_eq!(said.contains("NEED "), !is_ours, "{said}");
            assert_eq!(fs::read(node.kept(&ours)).expect("it is kept"), ours);
            fs::remove_dir_all(node.home.join(".cache")).expect("it was made");
        }
    });
}

#[test]
fn a_link_that_takes_the_name_of_the_new_program_is_not_written_through() {
    everywhere("linked", |node| {
        let ours = program("ours");
        let path = node.put("shared/garland", &ours, 0o755);
        let victim = node.put("victim", b"precious", 0o600);
        // A tool that the script calls puts the link there, between the file's creation and its
        // use.
        let swap = format!(
            "#!/bin/sh\nfor t in own/.new.*; do rm -f $t; ln -s {victim} $t; done\nexec /usr/bin/TOOL \"$@\"\n"
        );
        for tool in ["stat", "gzip"] {
            let _ = node.put(&format!("bin/{tool}"), swap.replace("TOOL", tool).as_bytes(), 0o700);
        }
        let meta = fs::metadata(&path).expect("it was written");
        let stamp = format!("{}.{}", meta.len(), meta.mtime());
        for shared in [path.as_str(), "-"] {
            let said = node.run(&ours, ["own/garland", shared, &stamp], "-", &ours);
            assert_eq!(fs::read(&victim).expect("it stays"), b"precious", "{said}");
            let _ = fs::remove_dir_all(node.home.join("own"));
        }
    });
}

#[test]
fn a_link_that_takes_the_name_of_the_programs_directory_is_not_followed() {
    everywhere("directory", |node| {
        let ours = program("ours");
        let _ = node.put(".cache/garland/a", b"", 0o600);
        let _ = node.put("victim/b", b"", 0o600);
        let kept = node.home.join(".cache/garland");
        let victim = node.home.join("victim");
        set_mode(&kept, 0o755);
        set_mode(&victim, 0o755);
        // The tool puts the link there, between the look at the directory and its use.
        let swap = format!(
            "#!/bin/sh\nif [ -d {0} ] && [ ! -h {0} ]; then mv {0} {0}.old; ln -s {1} {0}; fi\n\
             exec /usr/bin/chmod \"$@\"\n",
            kept.display(),
            victim.display()
        );
        let _ = node.put("bin/chmod", swap.as_bytes(), 0o700);
        let said = node.launch(&ours);
        assert!(kept.is_symlink(), "nothing was swapped");
        let mode = fs::metadata(&victim).expect("the directory exists").mode();
        assert_eq!(mode & 0o777, 0o755, "{said}");
        let names = fs::read_dir(&victim).expect("the directory exists").flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["b"], "{said}");
        assert!(said.contains("ours agent\n"), "it is stored elsewhere: {said}");
    });
}

#[test]
fn a_link_that_has_the_name_of_the_programs_directory_changes_nothing() {
    everywhere("linked", |node| {
        let ours = program("ours");
        let _ = node.put("victim/b", b"", 0o600);
        let victim = node.home.join("victim");
        set_mode(&victim, 0o755);
        let _ = node.put(".cache/a", b"", 0o600);
        std::os::unix::fs::symlink(&victim, node.home.join(".cache/garland")).expect("it is made");
        let said = node.launch(&ours);
        let mode = fs::metadata(&victim).expect("the directory exists").mode();
        assert_eq!(mode & 0o777, 0o755, "{said}");
        assert!(said.contains("ours agent\n"), "it is stored elsewhere: {said}");
    });
}

#[test]
fn wrong_bytes_never_run() {
    everywhere("sent", |node| {
        let ours = program("ours");
        let evil = program("evil");
        let said = node.run(&ours, ["-", "-", "-"], "-", &evil);
        // The script requests the program again for the next directory, and gets nothing.
        assert!(said.matches("NEED ").count() > 1 && !said.contains("evil"), "{said}");
        let at = node.home.join("own/garland");
        let at = at.to_str().expect("it is text");
        let said = node.run(&ours, [at, "-", "-"], "-", &evil);
        assert!(said.contains("REFUSED ") && !said.contains("evil"), "{said}");
        assert!(!Path::new(at).exists());
        let said = node.run(&ours, [at, "-", "-"], "-", &ours);
        assert!(said.ends_with("ours agent\n"), "{said}");
        assert!(Path::new(at).exists());
    });
}

#[test]
fn a_compressed_program_is_unpacked_and_kept_for_other_nodes() {
    everywhere("packed", |node| {
        let ours = program("ours");
        let evil = program("evil");
        let packed = |bytes: &[u8]| {
            let path = node.put("plain", bytes, 0o600);
            let output = Command::new("gzip").args(["-cn", &path]).output().expect("gzip");
            output.stdout
        };
        let said = node.run(&ours, ["-", "-", "-"], "-", &packed(&evil));
        // The script requests the program again for the next directory, and gets nothing.
        assert!(said.matches("NEED ").count() > 1 && !said.contains("evil"), "{said}");
        let said = node.run(&ours, ["-", "-", "-"], "-", &packed(&ours));
        assert!(said.ends_with("ours agent\n"), "{said}");
        let kept = node.kept(&ours);
        assert_eq!(fs::read(&kept).expect("it is kept"), ours);
        assert_eq!(fs::read(kept.with_extension("gz")).expect("it is kept"), packed(&ours));
        let names = fs::read_dir(kept.parent().expect("a directory")).expect("there").count();
        assert_eq!(names, 2, "nothing else is left");
    });
}

#[test]
fn another_program_at_the_users_path_needs_an_accepted_digest() {
    everywhere("named", |node| {
        let ours = program("ours");
        let other = program("other");
        let at = node.put("own/garland", &other, 0o755);
        let run = |others: &str| node.run(&ours, [&at, "-", "-"], others, &ours);
        let said = run("-");
        let why =
            format!("REFUSED {at}: it is another program, with the SHA-256 {}", sha256(&other));
        assert!(said.contains(&why) && !said.contains("other agent"), "{said}");
        assert!(run(&format!("{},{}", sha256(b"x"), sha256(&other))).ends_with("other agent\n"));
        set_mode(Path::new(&at), 0o775);
        let said = run(&sha256(&other));
        assert!(said.contains("others may write to it (mode 775)"), "{said}");
        assert_eq!(fs::read(&at).expect("it stays"), other);
    });
}
