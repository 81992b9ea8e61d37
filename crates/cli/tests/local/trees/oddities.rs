//! A tree with all that file systems have in them.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use garland_testkit::{random_bytes, random_file};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags, setxattr, utimensat};

/// Makes the tree in the new folder `top`.
pub fn make(top: &Path) {
    fs::create_dir_all(top.join("folders/in/each/other")).expect("it can be made");
    fs::create_dir(top.join("folders/empty")).expect("it can be made");
    files(top);
    links(top);
    names(top);
    attributes(top);
    // Last, since what is made in a folder changes its time.
    modes_and_times(top);
}

fn files(top: &Path) {
    fs::write(top.join("empty"), b"").expect("it can be written");
    random_file(&top.join("large"), 5_000_001, 1);
    fs::create_dir(top.join("small")).expect("it can be made");
    for number in 0..400 {
        let bytes = random_bytes(number * 13 % 5000, number as u64);
        fs::write(top.join(format!("small/{number}")), bytes).expect("it can be written");
    }
    let sparse = File::create(top.join("sparse")).expect("it can be made");
    sparse.set_len(64 << 20).expect("it may be so long");
    for offset in [0, 1 << 20, 33_333_333] {
        sparse.write_all_at(b"something", offset).expect("it can be written");
    }
    fs::write(top.join("folders/in/each/other/deep"), b"deep").expect("it can be written");
}

fn links(top: &Path) {
    let links = [
        ("relative", "large"),
        ("out", "/etc/passwd"),
        ("above", "../../../.."),
        ("nowhere", "not/there"),
        ("folder", "folders/in"),
        ("itself", "itself"),
    ];
    for (name, target) in links {
        symlink(target, top.join(name)).expect("it can be made");
    }
    symlink(OsStr::from_bytes(b"\xff \n"), top.join("odd")).expect("it can be made");
    fs::write(top.join("small/first"), b"many names").expect("it can be written");
    for name in ["a-name", "folders/in/name", "z-name"] {
        fs::hard_link(top.join("small/first"), top.join(name)).expect("it can be made");
    }
}

fn names(top: &Path) {
    let long = [b'n'; 255];
    let odd: [&[u8]; 9] = [
        b" ",
        b"-rf",
        b"a\nb",
        b"\xff\xfe\xe9",
        b"*?[x]",
        b"'\"\\",
        b"\x01\x1b[31m",
        b".hidden",
        &long,
    ];
    for name in odd {
        let name = OsStr::from_bytes(name);
        fs::write(top.join(name), name.as_bytes()).expect("Linux takes any name");
        let folder = top.join("folders/empty/..").join("odd").join(name);
        fs::create_dir_all(folder).expect("Linux takes any name");
    }
    // Nearly as long as a path may be.
    let mut folder = top.join("far");
    for _ in 0..12 {
        folder.push(OsStr::from_bytes(&long));
    }
    fs::create_dir_all(&folder).expect("it is short enough yet");
    fs::write(folder.join("end"), b"far").expect("it can be written");
}

fn attributes(top: &Path) {
    let give = |path: &str, name: &str, value: &[u8]| {
        setxattr(top.join(path), name, value, XattrFlags::empty())
            .unwrap_or_else(|error| panic!("{name} of {path}: {error}"));
    };
    give("large", "user.note", b"kept \xff\0 as it is");
    give("folders/empty", "user.of-a-folder", b"1");
    give("empty", "user.long", &[7; 3000]);
    // The owner, the user 12345 (who may read), the group, the mask and the others.
    const ENTRIES: [(u16, u16, u32); 5] =
        [(1, 6, u32::MAX), (2, 4, 12345), (4, 0, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, may, id) in ENTRIES {
        list.extend([&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    give("small/7", "system.posix_acl_access", &list);
    give("folders/in", "system.posix_acl_default", &list);
}

fn modes_and_times(top: &Path) {
    let root = garland_sys::process::user_id() == 0;
    if root {
        for (path, user, group) in [("small/1", 1234, 5678), ("folders/empty", 4321, 8765)] {
            chown(top.join(path), Some(user), Some(group)).expect("root may");
        }
    }
    let modes = [
        ("small/1", 0o4751),
        ("small/2", 0o400),
        ("small/3", 0o777),
        ("small/4", 0o2750),
        ("folders/empty", 0o1777),
        ("folders/in/each/other", 0o555),
        ("folders/in/each", 0o700),
    ];
    for (path, mode) in modes {
        fs::set_permissions(top.join(path), Permissions::from_mode(mode)).expect("it may have it");
    }
    let times = [
        ("large", Duration::from_nanos(1)),
        ("small/5", Duration::new(4_102_444_800, 123_456_789)),
        ("folders/in", Duration::new(1_000_000_000, 5)),
        ("folders", Duration::new(999_999_999, 0)),
    ];
    for (path, since) in times {
        let file = File::open(top.join(path)).expect("the file exists");
        file.set_modified(SystemTime::UNIX_EPOCH + since).expect("it may have it");
    }
    let time = Timespec { tv_sec: 1_111_111_111, tv_nsec: 22 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, top.join("nowhere"), &times, AtFlags::SYMLINK_NOFOLLOW).expect("it may have it");
    let old = File::open(top).expect("the directory exists");
    old.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(5)).expect("it may have it");
}
