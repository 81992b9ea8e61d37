//! Examines what a copy would find on this node: whether it can write, how much space there is, and
//! what may slow it down.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::printable;
use garland_dataplane::store::left::partial_name;
use garland_dataplane::store::{missing_directory, target};
use garland_protocol::FromAgent;
use garland_protocol::copy::{Examination, PlaceFacts};
use garland_protocol::farm::NodeFacts;
use garland_sys::confine::Root;
use garland_sys::error::reason_in;
use garland_sys::{limits, process, random};
use rustix::fs::{AtFlags, Mode, OFlags, fstatfs, fstatvfs, openat, unlinkat};

use crate::conditions;
use crate::controller::Controller;
use crate::error::{OrderError, cannot};
use crate::farm::node_facts;

/// The numbers and names of file systems: `f_type` of statfs(2).
const FILE_SYSTEMS: [(u32, &str); 17] = [
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x2fc1_2fc1, "zfs"),
    (0xf2f5_2010, "f2fs"),
    (0xca45_1a4e, "bcachefs"),
    (0x794c_7630, "overlay"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x6969, "nfs"),
    (0x0bd0_0bd0, "lustre"),
    (0x00c3_6400, "ceph"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0xfe53_4d42, "smb"),
    (0xff53_4d42, "cifs"),
    (0x6573_5546, "fuse"),
];

/// Examines this node and the directory of the destination `path` in a separate thread, and reports
/// to the head.
pub fn start(controller: &Controller, path: Vec<u8>) {
    let work = move |controller: &Controller| {
        let examination = examine(&controller.agent.root, Path::new(OsStr::from_bytes(&path)));
        controller.session.send(&FromAgent::Examined(Ok(Box::new(examination))));
    };
    controller.spawn("examine", work, |reason| FromAgent::Examined(Err(reason)));
}

fn examine(root: &Root, path: &Path) -> Examination {
    let NodeFacts { cores, memory_free, .. } = node_facts();
    Examination {
        kernel: process::kernel(),
        cores,
        memory_free,
        open_files: limits::open_files(),
        conditions: conditions::of_machine(),
        place: place(root, path).map_err(|error| error.to_string()),
    }
}

/// Creates a file in the directory of the destination `given`, and removes it. Where a copy would
/// make that directory, the file is created in the one in which it would be made.
fn place(root: &Root, given: &Path) -> Result<PlaceFacts, OrderError> {
    let (mut path, _) = target(root, given, OsStr::new(""));
    let makes = given.as_os_str().as_bytes().ends_with(b"/");
    let folder = loop {
        let error = match root.open_dir(&path, false) {
            Ok(folder) => break folder,
            Err(error) => error,
        };
        let shown = printable::path(&path);
        match path.parent().filter(|_| error.kind() == ErrorKind::NotFound) {
            Some(above) if makes => path = above.to_owned(),
            Some(_) => {
                let why = missing_directory(root, &path, &error);
                return Err(OrderError::Other(format!("cannot open the directory {shown}: {why}")));
            }
            None => return Err(cannot(format!("open the directory {shown}"))(error)),
        }
    };
    let shown = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
    let doing = |what: &str| format!("{what} {}", printable::path(shown));
    // If this process is killed now, the file is removed as the partial file of a copy is.
    let name = partial_name(OsStr::new("examined"), &hexadecimal(random::bytes()));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let created = openat(&folder, &name, flags, Mode::from_bits_retain(0o600));
    created.map_err(|error| {
        let why = reason_in(&folder, &error.into());
        OrderError::Other(format!("cannot {}: {why}", doing("create a file in")))
    })?;
    let removed = unlinkat(&folder, &name, AtFlags::empty());
    removed.map_err(|error| cannot(doing("remove a file in"))(error.into()))?;
    let asked = fstatvfs(&folder).and_then(|space| Ok((space, fstatfs(&folder)?)));
    let (space, system) = asked.map_err(|error| cannot(doing("stat"))(error.into()))?;
    Ok(PlaceFacts {
        path: shown.as_os_str().as_bytes().to_vec(),
        free: space.f_bavail.saturating_mul(space.f_frsize),
        file_system: name_of(system.f_type),
    })
}

fn hexadecimal(bytes: [u8; 8]) -> String {
    format!("{:016x}", u64::from_be_bytes(bytes))
}

/// Returns the name of a file system, given its number.
fn name_of(number: impl TryInto<i64>) -> String {
    // Some architectures have 32 bits, and sign them.
    let number = number.try_into().unwrap_or_default() as u32;
    let known = FILE_SYSTEMS.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| format!("{number:#x}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_written_to_and_left_as_it_was() {
        let top = std::env::temp_dir().join(format!("garland-examined-{}", std::process::id()));
        std::fs::create_dir_all(top.join("d")).unwrap();
        let root = Root::confined(&top).unwrap();
        let made = [("/d/new/", "/d"), ("/new/er/", "/"), ("new/", ".")];
        let there = [("/d", "/d"), ("/d/", "/d/"), ("/d/file", "/d"), ("file", ".")];
        for (given, path) in there.into_iter().chain(made) {
            let found = place(&root, Path::new(given)).unwrap();
            assert_eq!(found.path, path.as_bytes());
            assert!(found.free > 0 && !found.file_system.is_empty());
        }
        let error = place(&root, Path::new("/none/file")).unwrap_err().to_string();
        let hint = "; a copy to /none/ makes it";
        assert_eq!(
            error,
            format!("cannot open the directory /none: no such file or directory{hint}")
        );
        std::fs::write(top.join("file"), "").unwrap();
        let error = place(&root, Path::new("/file/new/")).unwrap_err().to_string();
        assert_eq!(error, "cannot open the directory /file/new/: not a directory");
        assert_eq!(std::fs::read_dir(top.join("d")).unwrap().count(), 0);
        let examination = examine(&root, Path::new("/d"));
        assert!(examination.open_files > 10 && examination.cores > 0);
        assert!(examination.kernel.contains('.') && examination.place.is_ok());
        std::fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn file_systems_have_their_names() {
        assert_eq!(name_of(0xef53_i64), "ext4");
        assert_eq!(name_of(0xff53_4d42_u32 as i32), "cifs");
        assert_eq!(name_of(0x12_i64), "0x12");
    }
}
