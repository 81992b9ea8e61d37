use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use garland_core::farm::Text;
use garland_protocol::farm::FarmAccess;
use garland_protocol::files::Changes;

use super::*;

struct Folder(PathBuf);

impl Folder {
    /// A directory with the directories `jobs/a` and `jobs/b` of a farm's jobs, and a cluster file.
    fn new(name: &str) -> Self {
        let name = format!("garland-service-{name}-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        let _ = fs::remove_dir_all(&folder.0);
        for job in ["jobs/a/in", "jobs/b"] {
            fs::create_dir_all(folder.0.join(job)).expect("a directory");
        }
        fs::write(folder.0.join("jobs/cluster.toml"), "version = 1\n").expect("a file");
        folder
    }

    /// The files as a node of the farm reaches them, which may have `open_files` open.
    fn service(&self, open_files: &Arc<Slots>) -> FileService {
        let folders = vec![Text::from("/jobs")];
        let farm = FarmAccess { nodes: Vec::new(), folders };
        let reach = Reach {
            role: Role::FarmNode,
            holdings: Arc::new(Holdings::open(None)),
            job_folders: Arc::new(JobFolders::new(&farm)),
            active_ns: Arc::default(),
            open_files: Arc::clone(open_files),
        };
        let root = Root::confined(&self.0).expect("the directory exists");
        FileService::open(&root, None, reach).expect("it is opened")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn asked(service: &FileService, ask: &Ask) -> Result<Answer, Errno> {
    service.obey(ask, &[], &mut Vec::new())
}

fn opened(service: &FileService, path: &str) -> Result<u64, Errno> {
    let read = OpenFlags { read: true, ..OpenFlags::default() };
    match asked(service, &Ask::Open(path.into(), read))? {
        Answer::Opened { handle, .. } => Ok(handle),
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn a_file_that_a_node_may_not_change_is_not_changed_by_a_handle_either() {
    let folder = Folder::new("handle");
    fs::write(folder.0.join("jobs/a/file"), "x").expect("a file");
    let service = folder.service(&Slots::new(8));
    let change = |handle, mode| {
        let changes = Changes { mode: Some(mode), ..Changes::default() };
        asked(&service, &Ask::Change(FileRef::Open(handle), changes)).map(drop)
    };
    let cluster = opened(&service, "jobs/cluster.toml").expect("it may be read");
    assert_eq!(change(cluster, 0o666), Err(Errno::ACCESS));
    let mode = fs::metadata(folder.0.join("jobs/cluster.toml")).expect("the file exists");
    assert_eq!(mode.permissions().mode() & 0o022, 0);
    let own = opened(&service, "jobs/a/file").expect("it may be read");
    assert_eq!(change(own, 0o640), Ok(()));
}

#[test]
fn a_node_of_a_farm_reserves_no_space_of_the_heads_disk() {
    const RESERVED: u64 = 1 << 20;
    let folder = Folder::new("reserve");
    let path = folder.0.join("jobs/a/file");
    fs::write(&path, vec![1; 1 << 16]).expect("a file");
    let service = folder.service(&Slots::new(8));
    let write = OpenFlags { read: true, write: true, ..OpenFlags::default() };
    let handle = match asked(&service, &Ask::Open(b"jobs/a/file".to_vec(), write)) {
        Ok(Answer::Opened { handle, .. }) => handle,
        answer => panic!("{answer:?}"),
    };
    let allocate =
        |mode, length| asked(&service, &Ask::Allocate(handle, mode, 0, length)).map(drop);
    let taken = || fs::metadata(&path).expect("the file exists").blocks() * 512;
    let before = taken();
    let [keep_size, zero_range] = [1, 16];
    for mode in [0, keep_size, zero_range, keep_size | zero_range] {
        assert_eq!(allocate(mode, RESERVED), Err(Errno::OPNOTSUPP), "mode {mode}");
        assert_eq!(taken(), before, "mode {mode}");
    }
    // A hole gives space back, where the file system has holes.
    assert!(matches!(allocate(2 | keep_size, 1 << 16), Ok(()) | Err(Errno::OPNOTSUPP)));
    assert!(taken() <= before);
}

#[test]
fn no_link_leads_out_because_it_gets_another_name() {
    let folder = Folder::new("rename");
    let path = |name: &str| folder.0.join(name);
    symlink("../../b", path("jobs/a/in/up")).expect("a link");
    symlink("file", path("jobs/a/in/along")).expect("a link");
    fs::write(path("jobs/a/in/file"), "x").expect("a file");
    let service = folder.service(&Slots::new(8));
    let renamed = |from: &str, to: &str, flags| {
        asked(&service, &Ask::Rename(from.into(), to.into(), flags)).map(drop)
    };
    // From there they would lead above the directory of the jobs.
    assert_eq!(renamed("jobs/a/in/up", "jobs/up", 0), Err(Errno::XDEV));
    assert_eq!(renamed("jobs/a/in", "jobs/in", 0), Err(Errno::XDEV));
    assert_eq!(renamed("jobs/a/in/file", "jobs/b", 2), Err(Errno::XDEV), "an exchange");
    let linked = asked(&service, &Ask::Link(b"jobs/a/in/up".into(), b"jobs/up".into()));
    assert_eq!(linked.map(drop), Err(Errno::XDEV));
    assert!(!path("jobs/up").is_symlink() && !path("jobs/in").exists());
    // What leads nowhere else may have another name.
    assert_eq!(renamed("jobs/a/in/up", "jobs/a/in/above", 0), Ok(()));
    assert_eq!(renamed("jobs/a/in/along", "jobs/b/along", 0), Ok(()));
    assert_eq!(renamed("jobs/a/in/file", "jobs/b/file", 0), Ok(()));
    assert_eq!(renamed("jobs/a/in", "jobs/a/out", 0), Ok(()));
}

#[test]
fn all_mounts_of_a_node_have_as_many_open_files_as_one() {
    let folder = Folder::new("open");
    fs::write(folder.0.join("jobs/a/file"), "x").expect("a file");
    let slots = Slots::new(3);
    let mounts = [folder.service(&slots), folder.service(&slots)];
    let open: Vec<_> = mounts.iter().map(|mount| opened(mount, "jobs/a/file")).collect();
    assert!(open.iter().all(Result::is_ok));
    let last = opened(&mounts[0], "jobs/a/file").expect("there is room for one");
    assert_eq!(opened(&mounts[1], "jobs/a/file"), Err(Errno::NFILE));
    assert!(asked(&mounts[0], &Ask::Close(last)).is_ok());
    assert!(opened(&mounts[1], "jobs/a/file").is_ok());
    // A mount that ends closes its files.
    let [first, second] = mounts;
    drop(first);
    assert!(opened(&second, "jobs/a/file").is_ok());
}
