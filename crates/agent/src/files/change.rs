//! Changing a file's attributes.

use std::fs::File;
use std::os::fd::AsFd;

use garland_protocol::files::{Attr, Changes, FileKind, FileNumber, TimeSet};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, chmodat, chownat,
    fchmod, fchown, ftruncate, futimens, utimensat,
};
use rustix::io::Errno;

use super::attr;
use super::places::{ANYWHERE, Place, by_descriptor};

/// Changes attributes of an open file. Returns all its attributes.
pub fn open(file: &File, changes: &Changes) -> Result<Attr, Errno> {
    if let Some(size) = changes.size {
        ftruncate(file, size)?;
    }
    if let Some((user, group)) = owner(changes) {
        fchown(file, user, group)?;
    }
    if let Some(mode) = changes.mode {
        fchmod(file, Mode::from_raw_mode(mode.into()))?;
    }
    if let Some(timestamps) = times(changes) {
        futimens(file, &timestamps)?;
    }
    attr::of_open(file.as_fd())
}

/// Changes attributes of the file at `place`. Returns all its attributes. Does not follow a
/// symbolic link.
///
/// # Errors
/// `STALE` if another file is there than the changes are for.
pub fn named(place: &Place<'_>, changes: &Changes) -> Result<Attr, Errno> {
    let itself = place.itself()?;
    let attr = attr::of_open(itself.as_fd())?;
    if changes.only.is_some_and(|only| only != FileNumber::from(&attr)) {
        return Err(Errno::STALE);
    }
    if let Some(size) = changes.size {
        ftruncate(place.open_found(&itself, OFlags::WRONLY)?, size)?;
    }
    if let Some((user, group)) = owner(changes) {
        chownat(&itself, "", user, group, AtFlags::EMPTY_PATH)?;
    }
    if let Some(mode) = changes.mode {
        let mode = Mode::from_raw_mode(mode.into());
        chmodat(ANYWHERE, by_descriptor(&itself), mode, AtFlags::empty())?;
    }
    if let Some(timestamps) = times(changes) {
        match attr.kind {
            // Before Linux 5.8 those of a link can be set by its name only.
            FileKind::Link => {
                utimensat(&place.folder, place.name, &timestamps, AtFlags::SYMLINK_NOFOLLOW)?;
            }
            _ => utimensat(ANYWHERE, by_descriptor(&itself), &timestamps, AtFlags::empty())?,
        }
    }
    attr::of_open(itself.as_fd())
}

fn owner(changes: &Changes) -> Option<(Option<Uid>, Option<Gid>)> {
    // The kernel interprets the number with all bits set as `no change`.
    let real = |number: Option<u32>| number.filter(|&number| number != u32::MAX);
    let user = real(changes.user);
    let group = real(changes.group);
    let some = user.is_some() || group.is_some();
    some.then(|| (user.map(Uid::from_raw), group.map(Gid::from_raw)))
}

fn times(changes: &Changes) -> Option<Timestamps> {
    let time = |set: Option<TimeSet>| match set {
        None => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Some(TimeSet::Now) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Some(TimeSet::To(stamp)) => {
            Timespec { tv_sec: stamp.seconds, tv_nsec: stamp.nanos.min(999_999_999).into() }
        }
    };
    let some = changes.accessed.is_some() || changes.modified.is_some();
    some.then(|| Timestamps {
        last_access: time(changes.accessed),
        last_modification: time(changes.modified),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use garland_protocol::files::Stamp;
    use garland_sys::confine::Root;

    use super::super::places::{Places, SetId};
    use super::*;

    #[test]
    fn a_file_that_got_the_number_of_another_one_is_not_changed() {
        let dir = std::env::temp_dir().join(format!("garland-agent-reused-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let places = Places::new(&Root::confined(&dir).unwrap(), SetId::Writable).unwrap();
        fs::write(dir.join("x"), "first").unwrap();
        let place = places.find(b"x").unwrap();
        let number = || FileNumber::from(&attr::of_open(place.itself().unwrap().as_fd()).unwrap());
        let first = number();
        let cut = |only| Changes { only: Some(only), size: Some(0), ..Changes::default() };
        assert_eq!(named(&place, &cut(first)).map(|attr| attr.size), Ok(0));
        // A file system with times of birth may give its number away at once, as ext4 does.
        let is_reused = (0..100).any(|_| {
            fs::remove_file(dir.join("x")).unwrap();
            fs::write(dir.join("x"), "another").unwrap();
            number().inode == first.inode
        });
        let mut former = FileNumber { born: Stamp { seconds: 1, nanos: 1 }, ..number() };
        if is_reused && first.born != Stamp::default() {
            former = first;
        }
        assert_eq!(named(&place, &cut(former)).err(), Some(Errno::STALE));
        assert_eq!(fs::read(dir.join("x")).unwrap(), b"another");
        let folder = FileNumber { kind: FileKind::Folder, ..number() };
        assert_eq!(named(&place, &cut(folder)).err(), Some(Errno::STALE));
        fs::remove_dir_all(&dir).unwrap();
    }
}
