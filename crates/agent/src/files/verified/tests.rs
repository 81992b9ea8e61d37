use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use garland_protocol::{Ask, OpenFlags};
use garland_sys::confine::Root;

use super::*;
use crate::files::service::FileService;

const BLOCK: usize = 8192;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("garland-verified-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a new directory");
        Self(folder)
    }

    /// Returns the answer to a member that asks for the second block of `x` by the digest of `content`.
    fn told(&self, content: &[u8], arriving: bool) -> Result<Vec<u8>, Errno> {
        let service = FileService::open(&Root::confined(&self.0).expect("it is there"), None, true);
        let (digest, offset) = (content_digest(content), BLOCK as u64);
        let ask = Ask::Verified(b"x".to_vec(), offset, BLOCK as u32, digest, arriving);
        let mut frame = vec![1, 2, 3];
        let told = service.expect("it is opened").obey(&ask, &[], &mut frame);
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
    let (one, two) = (vec![1; BLOCK], vec![2; BLOCK]);
    assert_eq!(folder.told(&two, false), Err(Errno::NOENT));
    fs::write(folder.0.join("x"), [one.as_slice(), &two].concat()).expect("it is written");
    assert_eq!(folder.told(&two, false), Ok(two.clone()));
    assert_eq!(folder.told(&one, false), Err(Errno::STALE));
    fs::rename(folder.0.join("x"), folder.0.join("y")).expect("it is renamed");
    std::os::unix::fs::symlink("y", folder.0.join("x")).expect("a link");
    assert_eq!(folder.told(&two, false), Err(Errno::LOOP));
    let service = FileService::open(&Root::confined(&folder.0).expect("it is there"), None, true);
    let service = service.expect("it is opened");
    let read = OpenFlags { read: true, ..OpenFlags::default() };
    for ask in [Ask::Open(b"y".to_vec(), read), Ask::List(Vec::new()), Ask::Remove(b"y".to_vec())] {
        assert_eq!(service.obey(&ask, &[], &mut Vec::new()).err(), Some(Errno::ACCESS), "{ask:?}");
    }
}

#[test]
fn what_has_arrived_is_read_before_the_rest_and_the_name() {
    let folder = Folder::new("arriving");
    let (one, two) = (vec![1; BLOCK], vec![2; BLOCK]);
    let hidden = left::partial_name("x".as_ref(), "t1");
    let file = File::create(folder.0.join(hidden)).expect("it is created");
    file.set_len(3 * BLOCK as u64).expect("it is longer");
    file.write_all_at(&one, 0).expect("it is written");
    assert_eq!(folder.told(&two, false), Err(Errno::NOENT), "it is not asked to wait");
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
    let service = FileService::open(&Root::confined(&folder.0).expect("it is there"), None, true);
    let ask = Ask::Verified(b"x".to_vec(), 0, BLOCK, content_digest(&one), true);
    let told = service.expect("it is opened").obey(&ask, &[], &mut Vec::new());
    assert!(told.is_ok(), "{told:?}");
    assert_eq!(seek(&file, SeekFrom::Hole(0)), Ok(u64::from(BLOCK)), "more was read ahead");
}
