//! Finds what a block device is used for: a mounted file system, swap, or another device on top of
//! it (LVM, md, dm-crypt). The kernel itself refuses an exclusive open (O_EXCL) of a device in use;
//! this module finds the reason to show.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use crate::proc_file;

/// Returns what the device with this number, or one of its partitions, is used for, such as
/// `mounted on /data`; `None` if no use is found.
#[must_use]
pub fn use_of(device: u64) -> Option<String> {
    let folder = PathBuf::from(format!("/sys/dev/block/{}:{}", major(device), minor(device)));
    let parts = folders_in(&folder).filter(|part| part.join("partition").exists());
    let numbered = parts.filter_map(|part| Some((number_of(&part)?, part)));
    let own = format!("{}:{}", major(device), minor(device));
    let mut all: Vec<(String, PathBuf)> = std::iter::once((own, folder.clone())).collect();
    all.extend(numbered);
    let mounts = proc_file::read("/proc/self/mountinfo").unwrap_or_default();
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    all.iter().find_map(|(number, folder)| {
        let mounted = mount_point(&mounts, number).map(|at| format!("mounted on {at}"));
        let swap = || is_swap(&swaps, number).then(|| "swap".to_owned());
        let holder = || {
            let holder = folders_in(&folder.join("holders")).next()?;
            Some(format!("a part of {}", holder.file_name()?.to_string_lossy()))
        };
        mounted.or_else(swap).or_else(holder)
    })
}

fn folders_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn number_of(folder: &Path) -> Option<String> {
    Some(fs::read_to_string(folder.join("dev")).ok()?.trim().to_owned())
}

/// Returns the mount point of the device with this number, from the third and fifth fields of
/// `/proc/self/mountinfo` (proc(5)).
fn mount_point(mounts: &str, number: &str) -> Option<String> {
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let found = mounts
        .find_map(|mut fields| (fields.nth(2)? == number).then(|| fields.nth(1)).flatten())?;
    // Blanks in mount points are escaped in octal.
    Some(found.replace("\\040", " ").replace("\\011", " ").replace("\\012", " "))
}

fn is_swap(swaps: &str, number: &str) -> bool {
    let paths = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let numbers = paths.filter_map(|path| {
        let device = fs::metadata(path).ok()?.rdev();
        Some(format!("{}:{}", major(device), minor(device)))
    });
    numbers.into_iter().any(|other| other == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_by_number() {
        let mounts = "36 35 98:0 / /mnt\\040a rw,noatime - ext3 /dev/root rw\n\
                      37 35 98:01 / /b rw - ext3 /dev/x rw\n";
        assert_eq!(mount_point(mounts, "98:0").as_deref(), Some("/mnt a"));
        assert_eq!(mount_point(mounts, "8:0"), None);
        assert_eq!(mount_point("odd", "98:0"), None);
    }

    #[test]
    fn what_is_no_device_is_used_by_nobody() {
        assert_eq!(use_of(0), None);
        assert!(!is_swap("Filename Type\n/no/such partition 1 0 -2\n", "8:0"));
    }
}
