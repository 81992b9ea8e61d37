//! Who may change a file. What decides which programs a command runs must be its user's: a file or
//! directory that another user owns, may write to, or may replace says what that user wants.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::Errno;

use crate::error::reason;
use crate::process;

/// The extended attribute with the access control list of a file.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// Returns why a file may hold what another user wrote; none if it is this user's alone. `file` is
/// the status of `path`.
#[must_use]
pub fn fault_of_file(path: &Path, file: &Metadata) -> Option<String> {
    Rights::new(path, file).fault_of_file(process::user_id())
}

/// Returns why other users may replace files in a directory; none if they cannot. `folder` is the
/// status of `path`.
#[must_use]
pub fn fault_of_folder(path: &Path, folder: &Metadata) -> Option<String> {
    Rights::new(path, folder).fault_of_folder(process::user_id())
}

/// Returns why the program `path` may be what another user wrote, or cannot be inspected; none if
/// it is this user's or root's alone, and others can neither write to it nor replace it.
#[must_use]
pub fn fault_of_program(path: &Path) -> Option<String> {
    inspect_program(path).unwrap_or_else(|error| Some(reason(&error)))
}

fn inspect_program(path: &Path) -> io::Result<Option<String>> {
    let path = fs::canonicalize(path)?;
    let file = fs::metadata(&path)?;
    let owner = if file.uid() == 0 { 0 } else { process::user_id() };
    let fault = Rights::new(&path, &file).fault_of_file(owner);
    let Some(folder) = path.parent().filter(|_| fault.is_none()) else { return Ok(fault) };
    Ok(fault_of_folder(folder, &fs::metadata(folder)?))
}

/// Returns why the directory `path`, an absolute path without symbolic links, may hold what another
/// user wrote, or may be replaced by one that does; none if it is this user's alone.
///
/// # Errors
/// When it, or a directory above it, cannot be inspected.
pub fn fault_of_own_folder(path: &Path) -> io::Result<Option<String>> {
    if let Some(why) = fault_of_file(path, &fs::symlink_metadata(path)?) {
        return Ok(Some(why));
    }
    let above = path.parent().map_or(Ok(None), open_folder)?;
    Ok(above.map(|OpenFolder { path, why }| format!("{why} ({})", path.display())))
}

/// A directory in which other users may replace files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenFolder {
    /// Its path.
    pub path: PathBuf,
    /// The reason.
    pub why: String,
}

/// Returns the first of the directory `path`, an absolute path without symbolic links, and those
/// above it in which other users may replace files; none if they can lead the path nowhere else.
///
/// # Errors
/// When one of them cannot be inspected.
pub fn open_folder(path: &Path) -> io::Result<Option<OpenFolder>> {
    for folder in path.ancestors() {
        if let Some(why) = fault_of_folder(folder, &fs::symlink_metadata(folder)?) {
            return Ok(Some(OpenFolder { path: folder.to_owned(), why }));
        }
    }
    Ok(None)
}

/// Returns why something in the directory `path`, or in one of its directories, may hold what
/// another user wrote, or lead to it; none if all is this user's alone.
///
/// # Errors
/// When a directory cannot be read.
pub fn fault_of_contents(path: &Path) -> io::Result<Option<String>> {
    // What is missing was removed since it was listed.
    let is_gone = |error: &io::Error| error.kind() == ErrorKind::NotFound;
    let entries = match fs::read_dir(path) {
        Err(error) if is_gone(&error) => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let file = match fs::symlink_metadata(&path) {
            Err(error) if is_gone(&error) => continue,
            file => file?,
        };
        // A link is this user's and leads to what is not.
        let fault = match file.is_symlink() {
            true => Some("it is a symbolic link".to_owned()),
            false => fault_of_file(&path, &file),
        };
        if let Some(why) = fault {
            return Ok(Some(format!("{}: {why}", path.display())));
        }
        if file.is_dir()
            && let Some(why) = fault_of_contents(&path)?
        {
            return Ok(Some(why));
        }
    }
    Ok(None)
}

/// The owner and mode of a file or directory.
struct Rights {
    user: u32,
    mode: u32,
    /// Whether the group may write and has no member other than the user, and the file has no
    /// access control list.
    alone_in_group: bool,
}

impl Rights {
    fn new(path: &Path, meta: &Metadata) -> Self {
        let mode = meta.mode();
        // With a list, the bits of the group are the most that the users in the list may do.
        let group_writes = mode & 0o020 != 0;
        let alone_in_group = group_writes && !has_list(path) && is_private_group(meta.gid());
        Self { user: meta.uid(), mode, alone_in_group }
    }

    fn others_write(&self) -> bool {
        self.mode & 0o002 != 0 || self.mode & 0o020 != 0 && !self.alone_in_group
    }

    fn fault_of_file(&self, user: u32) -> Option<String> {
        if self.user != user {
            return Some(format!("it belongs to user {}", self.user));
        }
        let mode = self.mode & 0o7777;
        self.others_write().then(|| format!("other users may write to it (mode {mode:04o})"))
    }

    /// A sticky directory, such as /tmp, protects the user's files.
    fn fault_of_folder(&self, user: u32) -> Option<String> {
        if self.user != user && self.user != 0 {
            return Some(format!("its directory belongs to user {}", self.user));
        }
        let mode = self.mode & 0o7777;
        let open = self.others_write() && self.mode & 0o1000 == 0;
        open.then(|| format!("other users may replace it: its directory has mode {mode:04o}"))
    }
}

/// Returns whether a file has an access control list (acl(5)), or it is unknown whether it has one.
fn has_list(path: &Path) -> bool {
    let length = rustix::fs::getxattr(path, ACCESS_LIST, &mut [0_u8; 0]);
    !matches!(length, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// Returns whether a group is the user's primary group, has the user's name, and has no other
/// member. Many systems create such a group for each user.
fn is_private_group(group: u32) -> bool {
    let entry = |database: &str, key: u32| {
        let output = Command::new("getent").args([database, &key.to_string()]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let fields: Vec<String> = text.lines().next()?.split(':').map(str::to_owned).collect();
        (fields.len() > 3).then_some(fields)
    };
    let (Some(user), Some(entry)) = (entry("passwd", process::user_id()), entry("group", group))
    else {
        return false;
    };
    let alone = entry[3].split(',').all(|member| member.is_empty() || member == user[0]);
    user[3] == group.to_string() && entry[0] == user[0] && alone
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_that_others_may_write_or_replace_are_refused() {
        let file = |user, mode| Rights { user, mode, alone_in_group: false }.fault_of_file(1000);
        assert_eq!(file(1000, 0o100_644), None);
        assert_eq!(file(0, 0o100_644).as_deref(), Some("it belongs to user 0"));
        let written = "other users may write to it (mode 0664)";
        assert_eq!(file(1000, 0o100_664).as_deref(), Some(written));
        assert!(file(1000, 0o100_646).is_some());
        let folder =
            |user, mode| Rights { user, mode, alone_in_group: false }.fault_of_folder(1000);
        assert_eq!((folder(1000, 0o040_755), folder(0, 0o040_755)), (None, None));
        assert_eq!(folder(0, 0o041_777), None, "/tmp is sticky");
        assert_eq!(folder(1000, 0o041_777), None, "the user's own directory is sticky, too");
        assert!(folder(1000, 0o040_775).is_some_and(|why| why.contains("0775")));
        assert!(folder(1000, 0o040_757).is_some());
        assert!(folder(1001, 0o040_755).is_some(), "its owner may replace what is in it");
        // Debian and others create a group for each user.
        let own = Rights { user: 1000, mode: 0o040_775, alone_in_group: true };
        assert_eq!((own.fault_of_folder(1000), own.fault_of_file(1000)), (None, None));
        let open = Rights { mode: 0o040_777, ..own };
        assert!(open.fault_of_folder(1000).is_some() && open.fault_of_file(1000).is_some());
    }

    #[test]
    fn a_program_is_its_users_or_roots_and_nobody_else_can_replace_it() {
        let folder = std::env::temp_dir().join(format!("garland-program-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let file = folder.join("program");
        fs::write(&file, "").unwrap();
        let fault = |folder_mode: u32, file_mode: u32| {
            let set = |path: &Path, mode| {
                fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            };
            set(&folder, folder_mode);
            set(&file, file_mode);
            fault_of_program(&file)
        };
        assert_eq!(fault(0o755, 0o755), None);
        assert!(fault(0o755, 0o757).is_some_and(|why| why.contains("may write to it")));
        assert!(fault(0o757, 0o755).is_some_and(|why| why.contains("may replace it")));
        assert_eq!(fault(0o1777, 0o755), None, "a sticky directory protects it");
        assert_eq!(fault_of_program(Path::new("/bin/sh")), None);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_list_of_users_who_may_write_is_seen() {
        let path = std::env::temp_dir().join(format!("garland-list-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        assert!(!has_list(&path));
        let entry = |tag: u16, rights: u16, who: u32| {
            let parts = [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &who.to_le_bytes()];
            parts.concat()
        };
        // The owner, user 12345, the group, the mask, and others (linux/posix_acl_xattr.h).
        let none = u32::MAX;
        let entries = [
            entry(1, 6, none),
            entry(2, 6, 12345),
            entry(4, 0, none),
            entry(16, 6, none),
            entry(32, 0, none),
        ];
        let list = [2_u32.to_le_bytes().to_vec(), entries.concat()].concat();
        let flags = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(&path, ACCESS_LIST, &list, flags) {
            Ok(()) => {
                assert!(has_list(&path));
                let stat = fs::metadata(&path).unwrap();
                assert_eq!(stat.mode() & 0o777, 0o660, "the mask is shown as the group's bits");
                assert!(fault_of_file(&path, &stat).is_some());
            }
            // The file system of the directory for temporary files has no lists.
            Err(error) => assert_eq!(error, Errno::OPNOTSUPP),
        }
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_to_or_replace_is_not_ones_own() {
        let base = std::env::temp_dir().join(format!("garland-own-{}", std::process::id()));
        let folder = base.join("run");
        fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        let fault = || fault_of_own_folder(&folder).unwrap();
        set(&base, 0o755).unwrap();
        set(&folder, 0o755).unwrap();
        assert_eq!(fault(), None);
        set(&folder, 0o777).unwrap();
        assert!(fault().is_some_and(|why| why.contains("0777")));
        set(&folder, 0o755).unwrap();
        set(&base, 0o777).unwrap();
        assert!(fault().is_some_and(|why| why.contains("may replace it")), "{:?}", fault());
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn what_others_wrote_in_a_folder_of_ones_own_is_named() {
        let folder = std::env::temp_dir().join(format!("garland-contents-{}", std::process::id()));
        let inner = folder.join("output");
        let file = inner.join("1");
        fs::create_dir_all(&inner).unwrap();
        fs::write(&file, b"").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        set(&inner, 0o755).unwrap();
        set(&file, 0o644).unwrap();
        let fault = || fault_of_contents(&folder).unwrap();
        assert_eq!(fault(), None);
        for path in [&file, &inner] {
            let former = fs::metadata(path).unwrap().permissions();
            set(path, 0o757).unwrap();
            let why = fault().unwrap_or_default();
            let named = format!("{}: other users may write to it (mode 0757)", path.display());
            assert_eq!(why, named);
            fs::set_permissions(path, former).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", folder.join("result.json")).unwrap();
        let why = fault().unwrap_or_default();
        assert!(why.ends_with("result.json: it is a symbolic link"), "{why}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
