//! Finds the helper program.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::FabricError;

/// The file name of the helper.
const NAME: &str = "garland-fabric";

/// The directory of a user's own programs in the home directory; rarely in PATH in ssh logins.
const OWN: &str = ".local/bin";

/// The environment variable with the path of the helper. If it is set, nothing is searched.
const VARIABLE: &str = "GARLAND_FABRIC";

/// Returns the path of the helper: the one in the environment variable, or else the first such file
/// next to this program, in PATH, or in the directory of the user's own programs, in which `fault`
/// finds none: why another user may have written the file.
///
/// # Errors
/// When there is no such file; the message lists the searched places and says what to do.
pub fn find(fault: impl Fn(&Path) -> Option<String>) -> Result<PathBuf, FabricError> {
    let beside = std::fs::read_link("/proc/self/exe").ok();
    let beside = beside.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let named = std::env::var_os(VARIABLE);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::var_os("HOME").map(|home| Path::new(&home).join(OWN));
    let folders = std::env::split_paths(&path).chain(own);
    look(named.as_deref(), beside.as_deref(), folders, fault)
}

fn look(
    named: Option<&OsStr>,
    beside: Option<&Path>,
    others: impl Iterator<Item = PathBuf>,
    fault: impl Fn(&Path) -> Option<String>,
) -> Result<PathBuf, FabricError> {
    if let Some(named) = named {
        let named = PathBuf::from(named);
        let missing = format!("{VARIABLE} is {}, which is not a file", named.display());
        return if named.is_file() { Ok(named) } else { Err(FabricError::Unsuitable(missing)) };
    }
    let folders = beside.map(Path::to_path_buf).into_iter().chain(others);
    let mut left_out = String::new();
    for file in folders.map(|folder| folder.join(NAME)).filter(|file| file.is_file()) {
        match fault(&file) {
            None => return Ok(file),
            Some(why) => left_out += &format!("{} is not used: {why}; ", file.display()),
        }
    }
    let beside = beside.map_or(String::new(), |folder| format!("in {}, ", folder.display()));
    Err(FabricError::Unsuitable(format!(
        "{left_out}there is no {NAME} on this node ({beside}in PATH, in ~/{OWN}, or named by {VARIABLE}), \
         which a fabric needs besides libfabric: `make fabric` builds it, beside garland on the \
         head, which copies it to nodes that lack it; usable without it: tcp, shm"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_environment_names_comes_first_and_must_be_there() {
        let folder = std::env::temp_dir().join(format!("garland-find-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(NAME);
        let nowhere = || std::iter::once(PathBuf::from("/nowhere"));
        let error = look(None, Some(&folder), nowhere(), |_| None).unwrap_err().to_string();
        assert!(error.contains("make fabric") && error.contains("tcp, shm"), "{error}");
        std::fs::write(&file, "").unwrap();
        assert_eq!(look(None, Some(&folder), nowhere(), |_| None).as_ref(), Ok(&file));
        let others = nowhere().chain([folder.clone()]);
        assert_eq!(look(None, None, others, |_| None).as_ref(), Ok(&file));
        assert_eq!(look(Some(file.as_os_str()), None, nowhere(), |_| None).as_ref(), Ok(&file));
        let error =
            look(Some(OsStr::new("/nowhere/x")), Some(&folder), nowhere(), |_| None).unwrap_err();
        assert!(error.to_string().contains("/nowhere/x"), "{error}");
        let strange = |_: &Path| Some("it belongs to user 7".to_owned());
        let error = look(None, Some(&folder), nowhere(), strange).unwrap_err().to_string();
        assert!(error.contains("garland-fabric is not used: it belongs to user 7; "), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
