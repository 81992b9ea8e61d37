//! Describes where a test file is: its file system, the block device below it, and the settings of
//! the device.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use garland_core::units::bytes;
use garland_dataplane::store::TestFile;
use garland_protocol::measure::{DiskCached, DiskPlace};
use garland_sys::cache::{self, CacheProbe};
use garland_sys::error::reason;
use garland_sys::uring::Ring;
use garland_sys::{proc_file, process};

use crate::conditions;
use crate::error::OrderError;

/// The reported settings: files in the device's `queue` directory.
const SETTINGS: [&str; 10] = [
    "scheduler",
    "read_ahead_kb",
    "rotational",
    "nr_requests",
    "write_cache",
    "max_sectors_kb",
    "max_hw_sectors_kb",
    "logical_block_size",
    "physical_block_size",
    "wbt_lat_usec",
];

/// Describes the file system and device of `test`. Unknown fields are empty.
pub fn of(test: &TestFile) -> DiskPlace {
    let number = test.file().metadata().map_or(0, |metadata| metadata.dev());
    let major_number = rustix::fs::major(number);
    let minor_number = rustix::fs::minor(number);
    let mounts = proc_file::read("/proc/self/mountinfo").unwrap_or_default();
    let (system, mounted) = mount(&mounts, major_number, minor_number).unwrap_or_default();
    let device = device_folder(major_number, minor_number).or_else(|| {
        // btrfs and similar file systems have device numbers of their own, and are mounted from a
        // device.
        let number = fs::metadata(&mounted).ok()?.rdev();
        device_folder(rustix::fs::major(number), rustix::fs::minor(number))
    });
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let machine = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let why_not = |tried: io::Result<()>| tried.err().map_or_else(String::new, |it| reason(&it));
    let in_memory = matches!(system.as_str(), "tmpfs" | "ramfs" | "rootfs");
    DiskPlace {
        device: device.as_deref().map(name).unwrap_or_default(),
        queue: device.as_deref().map(settings).unwrap_or_default(),
        machine: machine.trim().to_owned(),
        free: test.free(),
        memory: process::total_memory(),
        no_direct: why_not(test.set_direct(true).and_then(|()| test.set_direct(false))),
        no_uring: why_not(Ring::new(test.file(), 1, 4096).map(drop)),
        in_memory,
        guest: processor.lines().any(|line| {
            line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
        }),
        conditions: conditions::of_machine(),
        system,
        mounted,
    }
}

/// Checks that files of `size` bytes in total leave enough memory for other programs.
///
/// # Errors
/// When the file system is in memory, and the files would use more than half of the free memory.
pub fn refuse_memory(place: &DiskPlace, size: u64) -> Result<(), OrderError> {
    let free = process::available_memory();
    if !place.in_memory || free == 0 || free / 2 >= size {
        return Ok(());
    }
    let (system, [size, free]) = (&place.system, [size, free].map(bytes::format));
    Err(format!(
        "{system} is in memory, and the test's {size} would take more than half of the free memory \
         ({free}); use a smaller file"
    )
    .into())
}

/// Returns how much of the first `size` bytes of `file` is in the page cache, if the kernel reports
/// it.
pub fn cached(file: &File, size: u64) -> Option<DiskCached> {
    let found = cache::residency(file, size).ok()?;
    let by_cachestat = found.probe == CacheProbe::Cachestat;
    Some(DiskCached { pages: found.pages, cached: found.cached, by_cachestat })
}

/// Returns the type and the source of the file system with this device number. `mounts` is the text
/// of `/proc/self/mountinfo`.
fn mount(mounts: &str, major: u32, minor: u32) -> Option<(String, String)> {
    let number = format!("{major}:{minor}");
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&number))?;
    let mut words = line.split_once(" - ")?.1.split(' ');
    Some((words.next()?.to_owned(), words.next()?.to_owned()))
}

/// Returns the directory in /sys of a block device; for a partition, the directory of its disk.
fn device_folder(major: u32, minor: u32) -> Option<PathBuf> {
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    folder.ancestors().take(2).find(|folder| folder.join("queue").is_dir()).map(Path::to_owned)
}

fn name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn settings(device: &Path) -> Vec<(String, String)> {
    let read = |name: &&str| {
        let text = fs::read_to_string(device.join("queue").join(name)).ok()?;
        Some(((*name).to_owned(), text.trim().to_owned()))
    };
    SETTINGS.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_by_their_device_number() {
        let mounts = "\
            22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
            30 22 0:25 / /dev/shm rw,nosuid - tmpfs shm rw,size=1k\n";
        let found = |major, minor| mount(mounts, major, minor);
        assert_eq!(found(254, 0), Some(("ext4".to_owned(), "/dev/vda".to_owned())));
        assert_eq!(found(0, 25), Some(("tmpfs".to_owned(), "shm".to_owned())));
        assert_eq!(found(0, 2), None);
    }
}
