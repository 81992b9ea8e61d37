//! The directories that a farm's nodes reach on the head: those of their jobs, and what leads
//! there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_protocol::AskKind;
use garland_protocol::farm::FarmAccess;
use garland_protocol::files::{Ask, Changes, NewKind};
use garland_sys::sync::Mutex;

use super::places::SET_ID;

/// The name of the cluster file, which commands on the head read in the working directory.
const CLUSTER_FILE: &[u8] = b"cluster.toml";

/// The directories of a farm's jobs. All paths are without a slash at the beginning (raw bytes).
#[derive(Debug, Default)]
pub struct JobFolders {
    /// Ordered: those below a path follow each other. A farm may have one for each job, and each
    /// request asks for some.
    folders: BTreeSet<PathBuf>,
    /// Held by a node while it gives a file another name, from the look at the file on.
    pub(super) renames: Mutex<()>,
}

impl JobFolders {
    /// Creates the set of the directories of a farm.
    #[must_use]
    pub fn new(farm: &FarmAccess) -> Self {
        let folders = farm.folders.iter().map(|folder| {
            let path = folder.bytes();
            path_of(path.strip_prefix(b"/").unwrap_or(path)).to_owned()
        });
        Self { folders: folders.collect(), renames: Mutex::default() }
    }

    /// Returns whether a node may send this request. It reaches what lies in the directories, and
    /// may look at what leads to them. It makes no program that runs with the rights of the head's
    /// user, and gives no file to another user.
    #[must_use]
    pub fn admit(&self, ask: &Ask) -> bool {
        let may_pass = matches!(ask, Ask::Stat(_) | Ask::ReadLink(_) | Ask::Access(..));
        let reaches = |path: &[u8]| match ask.kind() {
            AskKind::Write => self.has(path) && self.may_change(path) && !leads_out(ask),
            AskKind::Read | AskKind::Look => self.has(path) || may_pass && self.leads_there(path),
            AskKind::Block | AskKind::Reserve => false,
        };
        ask.paths().into_iter().flatten().all(reaches) && !changes_rights(ask)
    }

    /// Returns whether `path` is one of the directories, or below one.
    fn has(&self, path: &[u8]) -> bool {
        path_of(path).ancestors().any(|above| self.folders.contains(above))
    }

    /// Returns whether a name may be changed: it is none of the directories, in whose place a link
    /// to elsewhere could be put, and not that of the file by which commands on the head find
    /// nodes.
    pub(super) fn may_change(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        !self.leads_there(path) && !may_be_cluster_file(name)
    }

    /// Returns whether `path` is one of the directories, or one of them is below it.
    fn leads_there(&self, path: &[u8]) -> bool {
        let path = path_of(path);
        let mut from = self.folders.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        from.next().is_some_and(|next| next.starts_with(path))
    }
}

/// Returns whether some file system that Linux mounts takes `name` for that of the cluster file. It
/// may ignore case, also that of letters which are one letter without it (`\u{17f}` and `s`), and
/// characters that are not seen (casefold of ext4); it may drop dots and spaces at the end (FAT,
/// exFAT, SMB), have a second, short name for each file (FAT), or name streams of a file after a
/// colon (NTFS).
fn may_be_cluster_file(name: &[u8]) -> bool {
    let name = name.split(|byte| *byte == b':').next().unwrap_or_default();
    let length = name.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |at| at + 1);
    let name = folded(&name[..length]);
    // `CLUSTE~1.TOM`, or with some digits of a sum in place of the last letters.
    let is_short = name.contains('~') && name.starts_with("cl") && name.ends_with(".tom");
    is_short || name.as_bytes() == CLUSTER_FILE
}

/// Returns the letters of a name which may count where case is ignored, in lower case.
fn folded(name: &[u8]) -> String {
    let mut folded = String::new();
    for letter in String::from_utf8_lossy(name).chars() {
        match letter {
            '\u{17f}' => folded.push('s'),
            '\u{fb05}' | '\u{fb06}' => folded.push_str("st"),
            letter if letter.is_ascii() => folded.push(letter.to_ascii_lowercase()),
            // No other one is a letter of the cluster file's name, and any may be one that is not
            // seen.
            _ => {}
        }
    }
    folded
}

/// Returns whether a request makes a link to somewhere outside: other nodes, and the head's own
/// commands, may follow it.
fn leads_out(ask: &Ask) -> bool {
    let Ask::Make(_, NewKind::Link(text), _) = ask else { return false };
    text.starts_with(b"/") || text.split(|byte| *byte == b'/').any(|part| part == b"..")
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Returns whether a request sets the bits of [`SET_ID`], or an owner.
fn changes_rights(ask: &Ask) -> bool {
    let sets = |mode: Option<u16>| mode.is_some_and(|mode| mode & SET_ID != 0);
    let of_changes =
        |changes: &Changes| sets(changes.mode) || changes.user.is_some() || changes.group.is_some();
    match ask {
        Ask::Change(_, changes) | Ask::WriteChange(_, _, changes) => of_changes(changes),
        Ask::Make(_, _, mode) => sets(Some(*mode)),
        Ask::Open(_, flags) => sets(flags.create),
        Ask::Stat(_)
        | Ask::ReadLink(_)
        | Ask::Access(..)
        | Ask::Link(..)
        | Ask::Remove(_)
        | Ask::RemoveFolder(_)
        | Ask::Rename(..)
        | Ask::Read(..)
        | Ask::Write(..)
        | Ask::Sync(..)
        | Ask::SyncFolder(_)
        | Ask::Allocate(..)
        | Ask::Seek(..)
        | Ask::List(_)
        | Ask::ListOn(_)
        | Ask::Close(_)
        | Ask::Space(_)
        | Ask::Block { .. }
        | Ask::Holds { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use garland_core::farm::Text;
    use garland_protocol::files::{FileRef, OpenFlags};

    use super::*;

    fn folders_of(folders: &[&str]) -> JobFolders {
        let folders = folders.iter().map(|path| Text::from(*path)).collect();
        JobFolders::new(&FarmAccess { nodes: Vec::new(), folders })
    }

    fn stat(path: &str) -> Ask {
        Ask::Stat(FileRef::Path(path.into()))
    }

    #[test]
    fn a_node_reaches_the_directories_of_its_jobs_and_sees_what_leads_there() {
        let folders = folders_of(&["/srv/jobs", "/data", "/data/a/out"]);
        let read = OpenFlags { read: true, ..OpenFlags::default() };
        for path in ["srv/jobs/a", "srv/jobs", "data/b/c"] {
            assert!(folders.admit(&stat(path)), "{path}");
            assert!(folders.admit(&Ask::Open(path.into(), read)), "{path}");
            assert!(folders.admit(&Ask::List(path.into())), "{path}");
        }
        for path in ["", "srv"] {
            assert!(folders.admit(&stat(path)), "{path}");
            assert!(!folders.admit(&Ask::List(path.into())), "{path}");
        }
        for path in ["etc/shadow", "srv/jobs2", "srv/other", "database", "root/.ssh"] {
            assert!(!folders.admit(&stat(path)), "{path}");
            assert!(!folders.admit(&Ask::Open(path.into(), read)), "{path}");
        }
        let removed = |path: &str| Ask::Remove(path.into());
        for path in ["srv/jobs", "data", "data/a", "data/a/out", "srv", "data/cluster.toml"] {
            assert!(!folders.admit(&removed(path)), "{path}");
        }
        let moved = |from: &str| Ask::Rename(from.into(), b"srv/jobs/a".into(), 0);
        assert!(folders.admit(&moved("data/b")));
        assert!(!folders.admit(&moved("data/a")), "a link could take its place");
        let link = |text: &str| Ask::Make(b"data/l".into(), NewKind::Link(text.into()), 0o777);
        assert!(folders.admit(&link("b/c")));
        assert!(!folders.admit(&link("/etc")) && !folders.admit(&link("b/../../x")));
        let rename = Ask::Rename(b"srv/jobs/a".into(), b"root/.ssh/authorized_keys".into(), 0);
        assert!(!folders.admit(&rename));
        assert!(!folders.admit(&Ask::Link(b"etc/shadow".into(), b"srv/jobs/a".into())));
        assert!(!JobFolders::default().admit(&stat("")));
    }

    #[test]
    fn a_node_makes_no_set_id_programs_and_gives_no_files_away() {
        let folders = folders_of(&["/srv"]);
        let change = |changes| Ask::Change(FileRef::Path(b"srv/a".into()), changes);
        let mode = |mode| change(Changes { mode: Some(mode), ..Changes::default() });
        assert!(folders.admit(&mode(0o1755)));
        for wrong in [
            mode(0o4755),
            mode(0o2755),
            change(Changes { user: Some(0), ..Changes::default() }),
            change(Changes { group: Some(0), ..Changes::default() }),
            Ask::Make(b"srv/a".into(), NewKind::File, 0o4755),
            Ask::Open(b"srv/a".into(), OpenFlags { create: Some(0o4755), ..OpenFlags::default() }),
        ] {
            assert!(!folders.admit(&wrong), "{wrong:?}");
        }
    }

    #[test]
    fn a_node_makes_no_cluster_file_by_a_name_that_a_file_system_takes_for_it() {
        let folders = folders_of(&["/srv"]);
        let open = OpenFlags { create: Some(0o644), ..OpenFlags::default() };
        let makes = |name: &str| folders.admit(&Ask::Open(format!("srv/{name}").into(), open));
        for name in [
            "cluster.toml",
            "Cluster.TOML",
            "clu\u{17f}ter.toml",
            "CLU\u{17f}TER.TOML",
            "clu\u{fb06}er.toml",
            "clus\u{ad}ter.toml",
            "\u{200b}cluster\u{200d}.toml\u{feff}",
            "cluster.toml.",
            "cluster.toml. .",
            "cluster.toml:x",
            "cluster.toml::$DATA",
            "CLUSTE~1.TOM",
            "cl0f3a~2.tom",
        ] {
            assert!(!makes(name), "{name:?}");
            let moved = Ask::Rename(b"srv/a".into(), format!("srv/{name}").into(), 0);
            assert!(!folders.admit(&moved), "{name:?}");
        }
        for name in [
            "cluster.tom",
            "clusters.toml",
            "cluster.toml2",
            "cluster-1.toml",
            "my-cluster.toml",
            "cluster.toml.bak",
            "\u{e9}t\u{e9}.toml",
            "\u{65e5}\u{672c}.toml",
            "cl\u{fc}ster.toml",
            "cluster.toml~",
        ] {
            assert!(makes(name), "{name:?}");
        }
    }

    #[test]
    fn as_many_directories_as_a_farm_has_jobs_are_told_apart() {
        const JOBS: usize = 20_000;
        let names: Vec<String> = (0..JOBS).map(|job| format!("/srv/{job}/out")).collect();
        let folders = folders_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for job in 0..JOBS {
            assert!(folders.admit(&stat(&format!("srv/{job}/out/a"))), "{job}");
            assert!(folders.admit(&stat(&format!("srv/{job}"))), "{job}");
            assert!(!folders.admit(&stat(&format!("srv/{job}/out.b"))), "{job}");
            assert!(!folders.admit(&Ask::Remove(format!("srv/{job}/out").into())), "{job}");
        }
    }
}
