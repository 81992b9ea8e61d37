//! Resolves paths without leaving a directory, by openat2(2) with RESOLVE_IN_ROOT. On kernels
//! without openat2 (before 5.6), this module resolves the path itself, component by component, by
//! the same rules.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, openat, openat2,
    readlinkat, statat,
};
use rustix::io::Errno;

use crate::error::of_new_entry;
use crate::process;

/// The directory that paths are resolved in.
#[derive(Debug)]
pub enum Root {
    /// No restriction: paths are resolved as usual.
    Free,
    /// A directory and its path. No path leads out of it: `/x`, `..` and symbolic links stay
    /// inside.
    Confined(OwnedFd, PathBuf),
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::RDONLY);

impl Root {
    /// Confines paths to the directory `path`.
    ///
    /// # Errors
    /// When `path` is not a directory or cannot be opened.
    pub fn confined(path: &Path) -> io::Result<Self> {
        let fd = openat(CWD, path, DIRECTORY, Mode::empty())?;
        Ok(Self::Confined(fd, path.to_owned()))
    }

    /// Opens the directory `path`. If `make` is set, creates it and its parents if missing.
    ///
    /// # Errors
    /// When `path` does not exist, is not a directory, or leads out of the root.
    pub fn open_dir(&self, path: &Path, make: bool) -> io::Result<OwnedFd> {
        if make {
            return self.open_or_make_dir(path).map(|(folder, _)| folder);
        }
        self.open_existing(path)
    }

    /// Opens the directory `path`; creates it and its parents if missing. Also returns the
    /// directories in which entries were created. Sync these to make the entries durable.
    ///
    /// # Errors
    /// When `path` cannot be created, is not a directory, or leads out of the root.
    pub fn open_or_make_dir(&self, path: &Path) -> io::Result<(OwnedFd, Vec<OwnedFd>)> {
        match self.open_existing(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make_dirs(path),
            result => Ok((result?, Vec::new())),
        }
    }

    /// Opens `path` for reading; it may be a file or a directory.
    ///
    /// # Errors
    /// When `path` does not exist or leads out of the root.
    pub fn open_entry(&self, path: &Path) -> io::Result<OwnedFd> {
        self.open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK)
    }

    /// Resolves `path` as [`Self::find`] does, but follows only symbolic links of root or of this
    /// process's user: in a directory to which all may write, any user can make one that leads to a
    /// device.
    ///
    /// # Errors
    /// EPERM when a link belongs to another user; besides, those of [`Self::find`].
    pub fn find_by_own_links(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match self {
            Self::Confined(root, _) => walk(root, path, flags, Links::Own),
            Self::Free => {
                let whole = std::path::absolute(path).map_err(|_| Errno::INVAL)?;
                let top = openat(CWD, "/", DIRECTORY, Mode::empty())?;
                walk(&top, &whole, flags, Links::Own)
            }
        }
    }

    /// Resolves `path` to a descriptor without opening the file (O_PATH).
    ///
    /// # Errors
    /// When `path` does not exist or leads out of the root.
    pub fn find(&self, path: &Path) -> io::Result<OwnedFd> {
        self.open(path, OFlags::PATH | OFlags::CLOEXEC)
    }

    /// Finds the directory `path` without opening it (O_PATH): names can be looked up in it by all
    /// who may search it, also where they may not list it.
    ///
    /// # Errors
    /// When `path` does not exist, is not a directory, or leads out of the root.
    pub fn find_dir(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)
    }

    /// Returns the attributes of the file at `path` (fstat(2)).
    ///
    /// # Errors
    /// When `path` does not exist or leads out of the root.
    pub fn look(&self, path: &Path) -> io::Result<Stat> {
        Ok(fstat(self.find(path)?)?)
    }

    /// Returns a descriptor of the root directory; `/` if paths are not confined.
    ///
    /// # Errors
    /// When the directory cannot be opened.
    pub fn top(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Free => Ok(openat(CWD, "/", DIRECTORY, Mode::empty())?),
            Self::Confined(root, _) => root.try_clone(),
        }
    }

    fn open_existing(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.open(path, DIRECTORY)
    }

    fn open(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let Self::Confined(root, _) = self else {
            return Ok(openat(CWD, path, flags, Mode::empty())?);
        };
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(resolve(root, path, flags, inside, Links::Inside)?)
    }

    fn make_dirs(&self, path: &Path) -> io::Result<(OwnedFd, Vec<OwnedFd>)> {
        let mut so_far = PathBuf::new();
        let mut parents = Vec::new();
        for component in path.components() {
            so_far.push(component);
            let Component::Normal(name) = component else { continue };
            let above = so_far.parent().unwrap_or(Path::new("."));
            let parent = self.open_existing(above)?;
            match mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => parents.push(parent),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(of_new_entry(&parent, error)),
            }
        }
        Ok((self.open_existing(path)?, parents))
    }
}

/// Opens the regular file or directory that `found` stands for (O_PATH) for reading.
///
/// # Errors
/// Those of [`open_found_with`].
pub fn open_found(found: &OwnedFd) -> io::Result<OwnedFd> {
    open_found_with(found, OFlags::RDONLY)
}

/// Opens the regular file or directory that `found` stands for (O_PATH) with `flags`, which do not
/// create it. What else it may be, such as a pipe or a device, is not opened: that alone may wait
/// for ever, take a message or start a watchdog.
///
/// # Errors
/// When it is something else (ELOOP for a symbolic link, no error of the system for the others), or
/// cannot be opened.
pub fn open_found_with(found: &OwnedFd, flags: OFlags) -> io::Result<OwnedFd> {
    match FileType::from_raw_mode(fstat(found)?.st_mode) {
        FileType::RegularFile | FileType::Directory => {}
        FileType::Symlink => return Err(Errno::LOOP.into()),
        _ => return Err(io::Error::other("it is neither a regular file nor a directory")),
    }
    let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(openat(CWD, by_descriptor(found), flags, Mode::empty())?)
}

/// Opens the device that `found` stands for (O_PATH) for reading and writing. With `alone`
/// (O_EXCL), a block device that is in use is refused, and others cannot mount it as long as it is
/// open.
///
/// # Errors
/// When it is in use, or cannot be opened.
pub fn open_found_device(found: &OwnedFd, alone: bool) -> io::Result<OwnedFd> {
    let alone = if alone { OFlags::EXCL } else { OFlags::empty() };
    let flags = OFlags::RDWR | OFlags::CLOEXEC | alone;
    Ok(openat(CWD, by_descriptor(found), flags, Mode::empty())?)
}

/// Returns a path to the very file of an O_PATH descriptor, whatever has its name by now, for
/// system calls that do not accept such descriptors.
#[must_use]
pub fn by_descriptor(found: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", found.as_raw_fd())
}

/// Finds `path` in `folder` without opening it (O_PATH) and without following a symbolic link at
/// its end.
///
/// # Errors
/// When there is no such entry.
pub fn find_itself(folder: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, path, flags, Mode::empty())?)
}

/// Returns a descriptor of the directory `path` below `top`. It can only be used to look up names
/// in the directory (O_PATH). The path cannot lead out of `top`, and symbolic links are refused.
///
/// # Errors
/// When `path` does not exist, is not a directory, or contains a symbolic link.
pub fn beneath(top: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    resolve(top, path, flags, inside, Links::Refused)
}

/// Opens `path` below `root`: by openat2(2) with the flags `inside`, or on kernels that lack it by
/// [`walk`] with their equal `links`. The kernel refuses `..` with EAGAIN if anything is renamed or
/// mounted on the machine meanwhile: it is asked again, and if that happens all the time, the path
/// is resolved without it.
fn resolve(
    root: &OwnedFd,
    path: &Path,
    flags: OFlags,
    inside: ResolveFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    for _ in 0..RESOLVED_MAX {
        match openat2(root, path, flags, Mode::empty(), inside) {
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => break,
            result => return result,
        }
    }
    walk(root, path, flags, links)
}

/// Opens the directory `name` in the directory `above`; creates it if missing. A symbolic link is
/// refused.
///
/// # Errors
/// When `name` is not a single path component, or is the name of a link or a file.
pub fn open_below(above: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let mut components = Path::new(name).components();
    let single = matches!(components.next(), Some(Component::Normal(only)) if only == name);
    if !single || components.next().is_some() {
        return Err(io::Error::other("it is not a single path component"));
    }
    match mkdirat(above, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(of_new_entry(above, error)),
    }
    match openat(above, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(folder) => Ok(folder),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            let stat = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Err(match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    io::Error::other("it is a symbolic link, which is not followed")
                }
                _ => Errno::NOTDIR.into(),
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// What [`walk`] does at a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    /// Resolves it inside the root, as RESOLVE_IN_ROOT does.
    Inside,
    /// Resolves it inside the root if it belongs to root or to this process's user.
    Own,
    /// Fails, as RESOLVE_NO_SYMLINKS does. `..` and absolute paths fail, too (RESOLVE_BENEATH).
    Refused,
}

/// How often the kernel is asked to resolve a path while other files are renamed.
const RESOLVED_MAX: u32 = 32;

/// The number of symbolic links in a path after which the kernel gives up, and so does [`walk`].
const MOST_LINKS: usize = 40;

/// Opens `path` below `root` on kernels without openat2.
///
/// The kernel never resolves more than one name, and never follows a link (O_NOFOLLOW). `walk`
/// reads a link's text and resolves that itself. It keeps a descriptor of each directory on the way
/// from the root, and `..` returns to the last one, so that no `..` can lead out of the root, even
/// if another process moves directories in the meantime.
fn walk(root: &OwnedFd, path: &Path, flags: OFlags, links: Links) -> Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut way: Vec<OwnedFd> = Vec::new();
    let mut names = Vec::new();
    let mut followed = 0;
    push_names(&mut names, path, &mut way, links)?;
    while let Some(name) = names.pop() {
        if name == ".." {
            way.pop();
            continue;
        }
        let above = way.last().unwrap_or(root);
        let found = openat(above, &*name, step, Mode::empty())?;
        let stat = fstat(&found)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if links != Links::Refused && followed < MOST_LINKS => {
                if links == Links::Own && ![0, process::user_id()].contains(&stat.st_uid) {
                    return Err(Errno::PERM);
                }
                followed += 1;
                let target = OsString::from_vec(readlinkat(&found, "", Vec::new())?.into_bytes());
                push_names(&mut names, Path::new(&target), &mut way, links)?;
            }
            FileType::Symlink => return Err(Errno::LOOP),
            // A file that was replaced by a link since is not opened: O_NOFOLLOW.
            _ if names.is_empty() => {
                return openat(above, &*name, flags | OFlags::NOFOLLOW, Mode::empty());
            }
            FileType::Directory => way.push(found),
            _ => return Err(Errno::NOTDIR),
        }
    }
    openat(way.last().unwrap_or(root), ".", flags, Mode::empty())
}

/// Adds the components of `path` to the stack `names`, the first one on top. An absolute path
/// starts again at the root.
fn push_names(
    names: &mut Vec<OsString>,
    path: &Path,
    way: &mut Vec<OwnedFd>,
    links: Links,
) -> Result<(), Errno> {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir | Component::RootDir if links == Links::Refused => {
                return Err(Errno::XDEV);
            }
            Component::ParentDir => names.push("..".into()),
            Component::RootDir => way.clear(),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn place(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("garland-confine-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn no_path_leads_out() {
        let dir = place("out");
        std::fs::create_dir(dir.join("in")).unwrap();
        symlink("/etc", dir.join("in/link")).unwrap();
        symlink("/proc/self/root", dir.join("in/magic")).unwrap();
        let root = Root::confined(&dir.join("in")).unwrap();
        for path in ["link", "../../etc", "/etc", "magic/etc"] {
            assert!(root.open_dir(Path::new(path), false).is_err(), "{path}");
        }
        let Root::Confined(fd, _) = &root else { panic!("it is confined") };
        for path in ["link", "link/passwd", "magic", "../../etc", "/etc", "magic/etc"] {
            assert!(walk(fd, Path::new(path), DIRECTORY, Links::Inside).is_err(), "{path}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn files_that_are_renamed_elsewhere_refuse_no_path() {
        let dir = place("renames");
        std::fs::create_dir_all(dir.join("root/a")).unwrap();
        std::fs::write(dir.join("0"), b"").unwrap();
        let root = Root::confined(&dir.join("root")).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut names = [dir.join("0"), dir.join("1")];
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::rename(&names[0], &names[1]).unwrap();
                    names.reverse();
                }
            });
            let open = |_| root.open_entry(Path::new("a/../a")).err();
            let refused: Vec<_> = (0..20_000).filter_map(open).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            refused
        });
        let first = refused.first();
        assert!(first.is_none(), "{} were refused, the first one: {first:?}", refused.len());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn without_openat2_paths_lead_to_the_same_files() {
        let dir = place("same");
        std::fs::create_dir_all(dir.join("root/a/b")).unwrap();
        std::fs::write(dir.join("root/file"), b"in").unwrap();
        std::fs::write(dir.join("file"), b"out").unwrap();
        let links = [
            ("up", "../../file"),
            ("absolute", "/file"),
            ("a/back", "../file"),
            ("a/b/far", "../../../../../file"),
            ("folder", "a/b/"),
            ("top", ".."),
            ("round", "round"),
            ("a/dangling", "/none"),
            ("outside", dir.to_str().unwrap()),
        ];
        for (link, target) in links {
            symlink(target, dir.join("root").join(link)).unwrap();
        }
        let Root::Confined(root, _) = Root::confined(&dir.join("root")).unwrap() else { panic!() };
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let inode = |found: Result<OwnedFd, Errno>| found.map(|file| fstat(file).unwrap().st_ino);
        let paths = links.map(|(link, _)| link).into_iter().chain([
            "file",
            "a",
            "",
            ".",
            "..",
            "/",
            "a/..",
            "../file",
            "folder/far",
            "top/file",
            "file/x",
            "none",
            "none/../file",
            "folder/..",
            "top/../a/./b",
            "outside/file",
            "a/b/../back",
        ]);
        for path in paths {
            let path = Path::new(if path.is_empty() { "." } else { path });
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            // Other programs rename files meanwhile.
            let kernel = (0..1000)
                .map(|_| openat2(&root, path, flags, Mode::empty(), inside))
                .find(|found| found.as_ref().err() != Some(&Errno::AGAIN))
                .unwrap();
            let ours = walk(&root, path, flags, Links::Inside);
            // The kernel of this test may be an old one itself.
            if kernel.as_ref().err() != Some(&Errno::NOSYS) {
                assert_eq!(inode(ours), inode(kernel), "{}", path.display());
            }
        }
        let file = walk(&root, Path::new("up"), OFlags::RDWR, Links::Inside).unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut std::fs::File::from(file), &mut text).unwrap();
        assert_eq!(text, "in");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn links_of_others_are_not_followed_on_the_way_to_a_device() {
        let dir = place("own");
        std::fs::create_dir(dir.join("a")).unwrap();
        std::fs::write(dir.join("a/file"), b"").unwrap();
        for (link, target) in [("own", "a/file"), ("by-own", "own"), ("folder", "a")] {
            symlink(target, dir.join(link)).unwrap();
        }
        let below = Root::confined(&dir).unwrap();
        let both = |path: &str| {
            let free = Root::Free.find_by_own_links(&dir.join(path)).map(drop);
            assert_eq!(below.find_by_own_links(Path::new(path)).map(drop), free, "{path}");
            free
        };
        for path in ["a/file", "own", "by-own", "folder/file", "a/../own"] {
            assert_eq!(both(path), Ok(()), "{path}");
        }
        assert_eq!(both("none"), Err(Errno::NOENT));
        // Only root can make a link another user's.
        if process::user_id() == 0 {
            for link in ["own", "folder"] {
                std::os::unix::fs::lchown(dir.join(link), Some(65_534), None).unwrap();
            }
            for path in ["own", "by-own", "folder/file"] {
                assert_eq!(both(path), Err(Errno::PERM), "{path}");
            }
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn no_link_is_followed_beneath() {
        let dir = place("beneath");
        std::fs::create_dir_all(dir.join("a/b")).unwrap();
        symlink("a", dir.join("link")).unwrap();
        let top = Root::confined(&dir).unwrap().top().unwrap();
        for path in ["", "a", "a/b"] {
            assert!(beneath(&top, Path::new(path)).is_ok(), "{path}");
        }
        for path in ["link", "link/b", "..", "/etc", "none"] {
            assert!(beneath(&top, Path::new(path)).is_err(), "{path}");
            let walked = walk(&top, Path::new(path), DIRECTORY, Links::Refused);
            assert!(walked.is_err(), "{path}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_folder_below_another_is_never_a_link() {
        let dir = place("below");
        std::fs::create_dir(dir.join("there")).unwrap();
        std::fs::write(dir.join("file"), b"").unwrap();
        symlink("there", dir.join("link")).unwrap();
        symlink("nowhere", dir.join("dangling")).unwrap();
        let above = Root::Free.open_dir(&dir, false).unwrap();
        let below = |name: &str| {
            open_below(&above, OsStr::new(name)).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(below("there"), Ok(()));
        assert_eq!(below("made"), Ok(()));
        assert!(dir.join("made").is_dir());
        for name in ["link", "dangling"] {
            let wanted = "it is a symbolic link, which is not followed";
            assert_eq!(below(name), Err(wanted.to_owned()));
        }
        assert!(below("file").unwrap_err().starts_with("Not a directory"));
        for name in ["..", ".", "", "/", "there/x", "/tmp", "there/"] {
            assert_eq!(below(name), Err("it is not a single path component".to_owned()), "{name}");
        }
        assert!(!dir.join("nowhere").exists());
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn folders_are_made_inside() {
        let dir = place("make");
        let root = Root::confined(&dir).unwrap();
        root.open_dir(Path::new("/data/a/b/"), true).unwrap();
        assert!(dir.join("data/a/b").is_dir());
        assert!(root.open_dir(Path::new("/data/c"), false).is_err());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
