//! Times of files as file systems keep them: some only to the second, and some not at all although
//! they say so.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Stat, Timespec, Timestamps, UTIME_OMIT, fstat, fstatfs, futimens,
    utimensat,
};
use rustix::io::Errno;

use super::unset::NOT_KEPT;
use crate::attributes;

/// The units in nanoseconds in which file systems keep times: all of Linux, NTFS, protocols of
/// servers, exFAT, and ext3.
const UNITS_NS: [u32; 6] = [1, 100, 1_000, 1_000_000, 10_000_000, 1_000_000_000];

/// The magic number of a FAT, which keeps even seconds.
const FAT: i64 = 0x4d44;

/// The magic number of all file systems by FUSE.
const FUSE: i64 = 0x6573_5546;

/// The seconds since 1970 in which an exFAT can keep times: from 1980 to 2107.
const EXFAT_SECONDS: Range<i64> = 315_532_800..4_354_819_200;

/// The unit of a file system's times, as far as it is known from the times of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit {
    ns: u32,
    has_even_seconds: bool,
    /// Whether its counts of what is free are those of exFAT's by FUSE.
    counts_clusters: bool,
    /// Whether files have change times of their own.
    has_change_times: bool,
}

impl TimeUnit {
    /// Returns the coarsest unit of which both times of a file are multiples. The kernel sets the
    /// change time, in the unit of the file system: where that is a nanosecond, one in a thousand
    /// million is a multiple of a second.
    pub fn from_stat(stat: &Stat) -> Self {
        let nanos = [stat.st_mtime_nsec, stat.st_ctime_nsec];
        let nanos = nanos.map(|nanos| u32::try_from(nanos).unwrap_or(1));
        let is_unit = |ns: &&u32| nanos.iter().all(|time| time.is_multiple_of(**ns));
        Self {
            ns: *UNITS_NS.iter().rev().find(is_unit).unwrap_or(&1),
            has_even_seconds: false,
            counts_clusters: false,
            has_change_times: stat.st_mtime != stat.st_ctime || nanos[0] != nanos[1],
        }
    }

    /// Returns the unit of the file system of an open file, as far as its type tells it.
    pub fn of_file_system(file: impl AsFd) -> Self {
        let system = fstatfs(file).ok();
        let counts_clusters = system.is_some_and(|system| {
            system.f_type == FUSE && system.f_files > 0 && system.f_ffree == system.f_bfree
        });
        Self {
            ns: 1_000_000_000,
            has_even_seconds: system.is_some_and(|system| system.f_type == FAT),
            counts_clusters,
            has_change_times: false,
        }
    }

    /// Returns the finer one of two units of one file system.
    pub fn and(self, other: Self) -> Self {
        Self {
            ns: self.ns.min(other.ns),
            has_even_seconds: self.has_even_seconds || other.has_even_seconds,
            counts_clusters: self.counts_clusters || other.counts_clusters,
            has_change_times: self.has_change_times || other.has_change_times,
        }
    }

    /// Returns whether the file system shows the time `wanted` only until it is unmounted: exFAT's
    /// by FUSE has any time in memory, and stores another one.
    pub fn forgets(self, wanted: (i64, u32)) -> bool {
        let is_exfat = self.counts_clusters && !self.has_change_times;
        is_exfat && !EXFAT_SECONDS.contains(&wanted.0)
    }

    /// Returns whether the time `found`, in seconds and nanoseconds, is what the file system keeps
    /// of `wanted`.
    pub fn keeps(self, found: (i64, u32), wanted: (i64, u32)) -> bool {
        let (mut seconds, mut nanos) = wanted;
        if self.forgets(wanted) {
            return false;
        }
        if found == wanted {
            return true;
        }
        nanos -= nanos % self.ns;
        if self.has_even_seconds {
            seconds &= !1;
            nanos = 0;
        }
        found == (seconds, nanos)
    }
}

/// The maximum number of nanoseconds in a time. Larger numbers of a peer would mean the present
/// time, or none (utimensat(2)).
const NANOS_MAX: u32 = 999_999_999;

/// Sets the modification time of an open file, in seconds and nanoseconds, and looks whether it has
/// it then. The access time stays, unless the file system ignores such a call, as libfuse 2 does:
/// then it is set to the value that it has. Returns the status of the file.
///
/// # Errors
/// When the time cannot be set.
pub fn set_modified(file: impl AsFd, modified: (i64, u32)) -> io::Result<Stat> {
    let wanted = (modified.0, modified.1.min(NANOS_MAX));
    set(&file, Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, wanted)?;
    let stat = fstat(&file)?;
    if has(&stat, &file, wanted) {
        return Ok(stat);
    }
    set(&file, accessed(&stat), wanted)?;
    look(file, wanted)
}

/// Sets modification and access time of an open file to the same value, unless it has that already.
///
/// # Errors
/// When they cannot be set.
pub fn set_both(file: impl AsFd, modified: (i64, u32)) -> io::Result<()> {
    let wanted = (modified.0, modified.1.min(NANOS_MAX));
    let stat = fstat(&file)?;
    if attributes::modified_time(&stat) == wanted && has(&stat, &file, wanted) {
        return Ok(());
    }
    set(&file, timespec(wanted), wanted)?;
    look(file, wanted)?;
    Ok(())
}

/// Sets the modification time of a symbolic link that was opened with O_PATH, as [`set_modified`]
/// that of a file.
///
/// # Errors
/// When the time cannot be set.
pub fn set_modified_of_link(link: &OwnedFd, modified: (i64, u32)) -> io::Result<()> {
    let wanted = (modified.0, modified.1.min(NANOS_MAX));
    set_of_link(link, Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, wanted)?;
    let stat = fstat(link)?;
    if has(&stat, link, wanted) {
        return Ok(());
    }
    set_of_link(link, accessed(&stat), wanted)?;
    match has(&fstat(link)?, link, wanted) {
        true => Ok(()),
        false => Err(io::Error::other(NOT_KEPT)),
    }
}

fn set_of_link(link: &OwnedFd, last_access: Timespec, modified: (i64, u32)) -> io::Result<()> {
    let times = Timestamps { last_access, last_modification: timespec(modified) };
    match utimensat(link, "", &times, AtFlags::EMPTY_PATH) {
        // Kernels before 5.8 take no descriptor alone. This path leads to the link, and no further.
        Err(Errno::INVAL) => {
            let path = format!("/proc/self/fd/{}", link.as_raw_fd());
            Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
        }
        result => Ok(result?),
    }
}

fn set(file: impl AsFd, last_access: Timespec, modified: (i64, u32)) -> io::Result<()> {
    let last_modification = timespec(modified);
    Ok(futimens(file, &Timestamps { last_access, last_modification })?)
}

fn accessed(stat: &Stat) -> Timespec {
    Timespec { tv_sec: stat.st_atime, tv_nsec: i64::try_from(stat.st_atime_nsec).unwrap_or(0) }
}

fn timespec(time: (i64, u32)) -> Timespec {
    Timespec { tv_sec: time.0, tv_nsec: time.1.into() }
}

/// Fails if a file does not have the time that was set. A directory may have another one: whoever
/// makes files in it, such as another node that shares the file system, changes its time, and some
/// file systems keep none.
fn look(file: impl AsFd, wanted: (i64, u32)) -> io::Result<Stat> {
    let stat = fstat(&file)?;
    let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    match is_directory || has(&stat, &file, wanted) {
        true => Ok(stat),
        false => Err(io::Error::other(NOT_KEPT)),
    }
}

/// Returns whether an open file with the status `stat` has the time `wanted`, as far as its file
/// system keeps it.
pub fn has(stat: &Stat, file: impl AsFd, wanted: (i64, u32)) -> bool {
    let found = attributes::modified_time(stat);
    // All file systems keep those, and the type of this one need not be known.
    let is_usual = EXFAT_SECONDS.contains(&wanted.0);
    let unit = || TimeUnit::from_stat(stat).and(TimeUnit::of_file_system(&file));
    found == wanted && is_usual || unit().keeps(found, wanted)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use garland_testkit::{HangingDisk, Oddities};

    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn a_unit_is_learned_from_times_and_keeps_what_it_cuts_off() {
        let dir = Scratch::new("times-unit");
        let mut stat = fstat(File::open(&dir).unwrap()).unwrap();
        let mut unit = |modified: u32, changed: u32| {
            stat.st_mtime_nsec = modified.into();
            stat.st_ctime_nsec = changed.into();
            TimeUnit::from_stat(&stat)
        };
        for (modified, changed, ns) in [
            (0, 0, 1_000_000_000),
            (0, 123_456_789, 1),
            (123_456_700, 100, 100),
            (120_000_000, 0, 10_000_000),
            (1_000_000, 0, 1_000_000),
        ] {
            assert_eq!(unit(modified, changed).ns, ns, "{modified} {changed}");
        }
        let second = unit(0, 0);
        assert!(second.keeps((5, 0), (5, 999_999_999)) && second.keeps((-5, 0), (-5, 1)));
        assert!(!second.keeps((5, 0), (6, 0)) && !second.keeps((5, 0), (4, 999_999_999)));
        let finer = second.and(unit(0, 10_000_000));
        assert!(!finer.keeps((5, 0), (5, 20_000_000)) && finer.keeps((5, 0), (5, 9_999_999)));
        let fat = TimeUnit { has_even_seconds: true, ..second };
        assert!(
            fat.keeps((4, 0), (5, 7)) && !fat.keeps((4, 0), (6, 0)) && fat.keeps((5, 0), (5, 0))
        );
    }

    #[test]
    fn a_time_is_looked_at_after_it_was_set() {
        let dir = Scratch::new("times-lie");
        let oddities = Oddities {
            ignores_single_times: true,
            time_unit_ns: 10_000_000,
            ..Oddities::default()
        };
        let disk = HangingDisk::mount_odd(&dir, oddities);
        let file = File::create(dir.join("f")).unwrap();
        set_modified(&file, (1_000_000_000, 123_456_789)).unwrap();
        let stat = fstat(&file).unwrap();
        assert_eq!(attributes::modified_time(&stat), (1_000_000_000, 120_000_000));
        drop((file, disk));
    }

    #[test]
    fn a_time_that_is_only_shown_is_not_kept() {
        let seconds = [315_532_799, EXFAT_SECONDS.start, EXFAT_SECONDS.end - 1, EXFAT_SECONDS.end];
        for is_like_exfat in [true, false] {
            let dir = Scratch::new("times-shown");
            let oddities = Oddities { is_like_exfat, ..Oddities::default() };
            let disk = HangingDisk::mount_odd(&dir, oddities);
            std::fs::create_dir(dir.join("d")).unwrap();
            std::fs::write(dir.join("f"), "").unwrap();
            for path in ["d", "f"] {
                let file = File::open(dir.join(path)).unwrap();
                // A directory's time may be another one.
                let is_fine = !is_like_exfat || path == "d";
                let kept = seconds.map(|second| set_modified(&file, (second, 0)).is_ok());
                assert_eq!(kept, [is_fine, true, true, is_fine], "{path}");
                assert_eq!(attributes::modified_time(&fstat(&file).unwrap()), (seconds[3], 0));
                // It is not kept either if it is shown already.
                let again = [
                    set_modified(&file, (seconds[3], 0)).is_ok(),
                    set_both(&file, (seconds[3], 0)).is_ok(),
                ];
                assert_eq!(again, [is_fine; 2], "{path}");
            }
            drop(disk);
        }
    }
}
