//! A head whose program carries the one for nodes, as releases do: for tests in which nodes only
//! need the program. They get a tenth of what the tests' own program has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use garland_testkit::{Sshd, said};

use crate::ssh::{GARLAND, NODE, garland_at};

/// Returns the program, which is made once for all tests. It does not lie in the directory that
/// nodes do not see, but they have no need to look for it.
fn program() -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("garland-light");
    let made = modified(&path);
    if made.is_none() || made < modified(Path::new(GARLAND)).max(modified(Path::new(NODE))) {
        // Other tests may make it at the same time.
        let own = path.with_extension(std::process::id().to_string());
        let carry = Command::new(GARLAND).arg("carry").args([Path::new(NODE), &own]).output();
        let carry = carry.expect("garland starts");
        assert!(carry.status.success(), "{}", said(&carry));
        fs::rename(own, &path).expect("it was made just now");
    }
    path
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|stat| stat.modified()).ok()
}

/// Returns the command `garland ARGUMENTS` on the head.
pub fn garland(field: &Sshd, arguments: &[&str]) -> Command {
    garland_at(program().to_str().expect("a path of text"), field, arguments)
}

/// Runs `garland ARGUMENTS` on the head.
pub fn run(field: &Sshd, arguments: &[&str]) -> Output {
    garland(field, arguments).output().expect("garland starts")
}
