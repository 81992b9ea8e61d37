//! Which process listens on a TCP port (`/proc/net/tcp`, proc(5)).

use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::process_status::ProcessStatus;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// Who listens on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortHolder {
    /// The number of the user who opened the socket.
    pub user: u32,
    /// The number and the name of a process of this user that has the socket.
    pub process: Option<(u32, String)>,
}

impl fmt::Display for PortHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.process {
            Some((pid, name)) => write!(f, "{name} (process {pid})"),
            None => write!(f, "a process of user {}", self.user),
        }
    }
}

/// Returns who listens on `port` of any address; `None` if nobody does or the kernel does not tell.
#[must_use]
pub fn holder(port: u16) -> Option<PortHolder> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let mut lines = tables.iter().flatten().flat_map(|table| table.lines());
    let (user, inode) = lines.find_map(|line| listening(line, port))?;
    Some(PortHolder { user, process: owner(&format!("socket:[{inode}]")) })
}

/// Returns the user and the inode of the socket of a line, if it listens on `port`.
fn listening(line: &str, port: u16) -> Option<(u32, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (_, own) = words.nth(1)?.rsplit_once(':')?;
    let state = words.nth(1)?;
    let user = words.nth(3)?.parse().ok()?;
    let inode = words.nth(1)?;
    let is_own = u16::from_str_radix(own, 16) == Ok(port) && state == LISTENS;
    is_own.then_some((user, inode))
}

/// Returns the process of this user with a descriptor of the file `link`, and its name.
fn owner(link: &str) -> Option<(u32, String)> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let processes = entries.filter_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, entry.path()))
    });
    for (pid, process) in processes {
        // Another user's process may keep its descriptors from being read.
        let is_own = ProcessStatus::read(pid).is_some_and(|status| status.is_own);
        if is_own && has_open(&process, link) {
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            return Some((pid, name.trim_end().to_owned()));
        }
    }
    None
}

fn has_open(process: &Path, link: &str) -> bool {
    let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    targets.any(|target| target.as_os_str().as_bytes() == link.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_port_is_this_process() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let found = holder(port).unwrap();
        assert_eq!(found.process.map(|(pid, _)| pid), Some(std::process::id()));
        drop(listener);
        assert_eq!(holder(port), None);
    }

    #[test]
    fn lines_of_other_sockets_are_left_out() {
        let line = "   0: 0100007F:1004 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0";
        assert_eq!(listening(line, 0x1004), Some((1000, "4711")));
        assert_eq!(listening(line, 0x1005), None);
        assert_eq!(listening(&line.replace(" 0A ", " 01 "), 0x1004), None);
        assert_eq!(listening("  sl  local_address rem_address   st", 0x1004), None);
    }
}
