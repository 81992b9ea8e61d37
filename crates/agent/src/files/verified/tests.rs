use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use garland_core::plan::Layout;
use garland_protocol::Role;
use garland_protocol::copy::content_digest;
use garland_protocol::files::{Ask, Changes, FileRef, Hole, NewKind, OpenFlags};
use garland_protocol::names::{NameManifest, NameRecord, NamedFile};
use garland_protocol::wire::Secret;
use garland_sys::confine::Root;
use garland_sys::threads::Slots;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::files::service::{FileService, Reach};
use crate::names::Holdings;

const BLOCK: usize = 8192;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("garland-verified-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a new directory");
        Self(folder)
    }

    /// Returns what a peer with this role reaches, if the file `x` is served with blocks of these
    /// contents, all of equal length.
    fn service(&self, role: Role, blocks: &[&[u8]]) -> (FileService, [u8; 32]) {
        let size = blocks[0].len() as u32;
        let length = blocks.len() as u64 * u64::from(size);
        let layout = Layout::new(length, size).expect("a layout");
        self.serving(role, layout, blocks.iter().map(|block| content_digest(block)).collect())
    }

    /// Returns what a peer with this role reaches, if the file `x` is served with these blocks.
    fn serving(
        &self,
        role: Role,
        layout: Layout,
        digests: Vec<[u8; 32]>,
    ) -> (FileService, [u8; 32]) {
        let file = NamedFile { path: Vec::new(), mode: 0o644, modified: (0, 0), layout, digests };
        let manifest = NameManifest { base: b"x".into(), is_tree: false, files: vec![file] };
        let (bytes, content) = manifest.encode().expect("it is short");
        let holdings = Holdings::open(Some(self.0.join(".held")));
        let record = NameRecord::new("x", 1, Some(content), &Secret([1; 32]));
        holdings.register(&record, &bytes, b"x").expect("it is registered");
        let reach = Reach {
            role,
            holdings: Arc::new(holdings),
            job_folders: Arc::default(),
            active_ns: Arc::default(),
            open_files: Slots::new(role.budget().open_files),
        };
        let root = Root::confined(&self.0).expect("the directory exists");
        (FileService::open(&root, None, reach).expect("it is opened"), content.root)
    }

    /// Returns the answer to a member that asks for the second block of `x`, of which `content` is
    /// served.
    fn told(&self, content: &[u8], arriving: bool) -> Result<Vec<u8>, Errno> {
        let (service, root) = self.service(Role::Member, &[&vec![9; BLOCK], content]);
        let ask = Ask::Block { root, file: 0, block: 1, piece: 0, arriving };
        let mut frame = vec![1, 2, 3];
        let told = service.obey(&ask, &[], &mut frame);
        told.map(|_| frame.split_off(3))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_member_reads_what_it_knows_by_its_digest_and_nothing_else() {
    let folder = Folder::new("known");
    let one = vec![1; BLOCK];
    let two = vec![2; BLOCK];
    assert_eq!(folder.told(&two, false), Err(Errno::NODATA));
    fs::write(folder.0.join("x"), [one.as_slice(), &two].concat()).expect("it is written");
    assert_eq!(folder.told(&two, false), Ok(two.clone()));
    assert_eq!(folder.told(&one, false), Err(Errno::STALE));
    fs::rename(folder.0.join("x"), folder.0.join("y")).expect("it is renamed");
    std::os::unix::fs::symlink("y", folder.0.join("x")).expect("a link");
    assert_eq!(folder.told(&two, false), Err(Errno::NODATA));
}

#[test]
fn a_member_names_contents_and_never_paths_and_other_contents_are_not_read() {
    let folder = Folder::new("refused");
    let block = vec![2; BLOCK];
    fs::write(folder.0.join("x"), &block).expect("it is written");
    fs::write(folder.0.join("y"), &block).expect("it is written");
    let (service, root) = folder.service(Role::Member, &[&block]);
    let obey = |ask: &Ask| service.obey(ask, &[], &mut Vec::new()).map(drop);
    let block = |root, file, block| Ask::Block { root, file, block, piece: 0, arriving: false };
    assert_eq!(obey(&block(root, 0, 0)), Ok(()));
    let beyond = Ask::Block { root, file: 0, block: 0, piece: 1, arriving: false };
    assert_eq!(obey(&beyond), Err(Errno::NODATA));
    assert_eq!(obey(&Ask::Holds { root, file: 0 }), Ok(()));
    for missing in [block([0; 32], 0, 0), block(root, 1, 0), block(root, 0, 1)] {
        assert_eq!(obey(&missing), Err(Errno::NODATA), "{missing:?}");
    }
    let read = OpenFlags { read: true, ..OpenFlags::default() };
    let path = || b"y".to_vec();
    for ask in [
        Ask::Stat(FileRef::Path(path())),
        Ask::Change(FileRef::Path(path()), Changes::default()),
        Ask::ReadLink(path()),
        Ask::Access(path(), 4),
        Ask::Make(path(), NewKind::File, 0o600),
        Ask::Link(path(), b"z".to_vec()),
        Ask::Remove(path()),
        Ask::RemoveFolder(path()),
        Ask::Rename(path(), b"z".to_vec(), 0),
        Ask::Open(path(), read),
        Ask::Read(1, 0, 1),
        Ask::Write(1, 0),
        Ask::WriteChange(1, 0, Changes::default()),
        Ask::Sync(1, true),
        Ask::Allocate(1, 0, 0, 1),
        Ask::Seek(1, 0, Hole::Data),
        Ask::List(Vec::new()),
        Ask::ListOn(1),
        Ask::Space(Vec::new()),
    ] {
        assert_eq!(obey(&ask), Err(Errno::ACCESS), "{ask:?}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let folder = Folder::new("pipe");
    let block = vec![2; BLOCK];
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, folder.0.join("x"), FileType::Fifo, mode, 0).expect("a pipe");
    // A writer that is blocked until somebody opens the pipe to read.
    let path = folder.0.join("x");
    let writer = || rustix::fs::open(&path, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
    let (member, root) = folder.service(Role::Member, &[&block]);
    let (controller, _) = folder.service(Role::Controller, &[&block]);
    let ask = Ask::Block { root, file: 0, block: 0, piece: 0, arriving: false };
    let read = OpenFlags { read: true, ..OpenFlags::default() };
    let open = Ask::Open(b"x".to_vec(), read);
    for (service, ask, refused) in [(&member, ask, Errno::NODATA), (&controller, open, Errno::NXIO)]
    {
        let told = service.obey(&ask, &[], &mut Vec::new());
        assert_eq!(told.err(), Some(refused), "{ask:?}");
        assert_eq!(writer().err(), Some(Errno::NXIO), "nobody has opened it");
    }
}

#[test]
fn what_has_arrived_is_read_before_the_rest_and_the_name() {
    let folder = Folder::new("arriving");
    let one = vec![1; BLOCK];
    let two = vec![2; BLOCK];
    let hidden = left::partial_name("x".as_ref(), "t1");
    let file = File::create(folder.0.join(hidden)).expect("it is created");
    file.set_len(3 * BLOCK as u64).expect("it is longer");
    file.write_all_at(&one, 0).expect("it is written");
    assert_eq!(folder.told(&two, false), Err(Errno::NODATA), "it is not asked to wait");
    assert_eq!(folder.told(&two, true), Err(Errno::AGAIN));
    std::thread::scope(|scope| {
        let told = scope.spawn(|| folder.told(&two, true));
        file.write_all_at(&two, BLOCK as u64).expect("it is written");
        assert_eq!(told.join().expect("it ends"), Ok(two.clone()));
    });
}

#[test]
fn reading_what_has_arrived_makes_nothing_else_look_as_if_it_had() {
    const BLOCK: u32 = 1 << 20;
    let folder = Folder::new("ahead");
    let one = vec![1; BLOCK as usize];
    let hidden = left::partial_name("x".as_ref(), "t1");
    let file = File::create(folder.0.join(hidden)).expect("it is created");
    let size = 8 * u64::from(BLOCK);
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size).expect("it is long");
    file.write_all_at(&one, 0).expect("it is written");
    file.sync_all().expect("it is written");
    // So that it is read from the disk.
    fadvise(&file, 0, None, Advice::DontNeed).expect("it is forgotten");
    let (service, root) = folder.service(Role::Member, &[&one]);
    let ask = Ask::Block { root, file: 0, block: 0, piece: 0, arriving: true };
    let told = service.obey(&ask, &[], &mut Vec::new());
    assert!(told.is_ok(), "{told:?}");
    assert_eq!(seek(&file, SeekFrom::Hole(0)), Ok(u64::from(BLOCK)), "more was read ahead");
}

#[test]
fn blocks_of_a_file_of_2_tib_are_served_in_pieces_and_verified_as_a_whole() {
    const LENGTH: u64 = 2 << 40;
    let folder = Folder::new("long");
    let layout = Layout::fitting(LENGTH);
    let size = layout.block_size as usize;
    assert_eq!(size, 4 * PIECE as usize);
    let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
    let mut digests = vec![content_digest(&vec![0; size]); layout.blocks() as usize];
    *digests.last_mut().expect("it has blocks") = content_digest(&bytes);
    let last = layout.blocks() - 1;
    let file = File::create(folder.0.join("x")).expect("it is created");
    file.set_len(LENGTH).expect("it has holes");
    file.write_all_at(&bytes, layout.offset(last)).expect("it is written");
    let (service, root) = folder.serving(Role::Member, layout, digests);
    let told = |block, piece| {
        let mut frame = vec![1, 2, 3];
        let ask = Ask::Block { root, file: 0, block, piece, arriving: false };
        service.obey(&ask, &[], &mut frame).map(|_| frame.split_off(3))
    };
    for (piece, wanted) in (0..).zip(bytes.chunks(PIECE as usize)) {
        assert!(told(last, piece).is_ok_and(|told| told == wanted), "piece {piece}");
    }
    assert!(told(0, 3).is_ok_and(|told| told == vec![0; PIECE as usize]));
    assert_eq!((told(last, 4), told(last + 1, 0)), (Err(Errno::NODATA), Err(Errno::NODATA)));
    // Another byte in a piece that nobody asks for.
    file.write_all_at(b"x", layout.offset(last) + 5).expect("it is written");
    (0..4).for_each(|piece| assert_eq!(told(last, piece), Err(Errno::STALE)));
}

#[test]
fn a_request_that_waits_lists_the_directory_a_few_times() {
    let mut listings = Listings::new(0);
    let listed: Vec<u64> =
        (0..2000).filter(|now_ms| listings.are_due(now_ms * 1_000_000)).collect();
    assert_eq!(listed, [0, 64, 192, 448, 960, 1984]);
}

#[test]
fn a_block_is_found_where_an_old_version_has_its_name() {
    let folder = Folder::new("old-version");
    let bytes = vec![7; BLOCK];
    let layout = Layout::fitting(BLOCK as u64);
    let (service, root) = folder.serving(Role::Member, layout, vec![content_digest(&bytes)]);
    let path = folder.0.join("x");
    fs::write(&path, vec![1; BLOCK]).expect("an old version");
    let ask = Ask::Block { root, file: 0, block: 0, piece: 0, arriving: true };
    let mut frame = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            fs::write(folder.0.join("new"), &bytes).expect("it is written");
            fs::rename(folder.0.join("new"), &path).expect("it gets its name");
        });
        assert!(service.obey(&ask, &[], &mut frame).is_ok());
    });
    assert!(frame == bytes);
}
