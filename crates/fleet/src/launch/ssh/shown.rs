//! Commands for hints, which do what ours did when they are pasted into a shell.

use std::path::Path;
use std::process::Command;

use garland_core::cluster::{Node, Ssh};
use garland_core::printable;

use crate::launch::{StartTerms, Starting};

/// The options that ssh-copy-id(1) passes on to ssh; others it refuses.
const OF_COPY_ID: [&str; 4] = ["-o", "-p", "-F", "-i"];

/// A login to a node, with the options of the cluster file.
pub struct ShownLogin<'a> {
    ssh: &'a Ssh,
    node: &'a Node,
}

impl<'a> ShownLogin<'a> {
    /// Returns the login to `node` with the settings `ssh`.
    pub fn new(ssh: &'a Ssh, node: &'a Node) -> Self {
        Self { ssh, node }
    }

    /// Returns the host, without the user.
    fn host(&self) -> &'a str {
        let host = self.node.host.as_str();
        host.rsplit_once('@').map_or(host, |(_, host)| host)
    }

    /// Returns the command that logs in with the further options `more` and runs true(1).
    pub fn command(&self, more: &[&str]) -> String {
        let words = ["ssh"].into_iter().chain(more.iter().copied());
        let words = words.chain(self.ssh.options.iter().map(String::as_str));
        let words = words.map(printable::word);
        words.chain([self.user_and_host(), "true".to_owned()]).collect::<Vec<_>>().join(" ")
    }

    /// Returns the command that copies the user's key to the node.
    pub fn copy_id(&self) -> String {
        let mut words = vec!["ssh-copy-id".to_owned()];
        let mut options = self.ssh.options.iter().map(String::as_str);
        while let Some(option) = options.next() {
            let Some(letter) = OF_COPY_ID.iter().find(|letter| option.starts_with(**letter)) else {
                continue;
            };
            words.push(printable::word(option));
            if option == *letter {
                words.extend(options.next().map(printable::word));
            }
        }
        words.push(self.user_and_host());
        words.join(" ")
    }

    /// Returns the command that forgets the host key of the node. Its name there is what ssh would
    /// log in to: what came over the login, even ssh's own message, may be the node's words.
    pub fn forget(&self) -> String {
        let name = self.known_name().unwrap_or_else(|| self.host().to_owned());
        let name = printable::word(name);
        // ssh uses the first value of an option, and adds new keys to the first of several files.
        let mut options = self.ssh.options.iter().map(String::as_str);
        let file = loop {
            let Some(option) = options.next() else { break None };
            let setting = match option {
                "-o" => options.next(),
                option => option.strip_prefix("-o"),
            };
            if let Some(file) = setting.and_then(known_hosts) {
                break Some(file);
            }
        };
        let file = file.map_or_else(String::new, |file| {
            // The shell expands a tilde as ssh does, unless it is quoted.
            let (home, rest) = file.split_at(if file.starts_with("~/") { 2 } else { 0 });
            format!("-f {home}{} ", printable::word(rest))
        });
        format!("ssh-keygen {file}-R {name}")
    }

    /// Returns the name by which ssh knows the node's host key, as ssh itself says without a login
    /// (`ssh -G`); `None` if it does not.
    fn known_name(&self) -> Option<String> {
        let mut command = Command::new("ssh");
        command.arg("-G").args(&self.ssh.options).args(["--", &self.node.host]);
        let terms = StartTerms { is_elsewhere: true, ..StartTerms::default() };
        let mut asked = Starting::start(command, Path::new("/dev/null"), &terms).ok()?;
        let mut host = None;
        let mut port = None;
        let mut alias = None;
        while let Ok(line) = asked.next_line() {
            let (setting, value) = line.split_once(' ').unwrap_or((&line, ""));
            let place = match setting {
                "hostname" => &mut host,
                "port" => &mut port,
                "hostkeyalias" => &mut alias,
                _ => continue,
            };
            *place = Some(value.to_owned());
        }
        match (alias.filter(|alias| alias != "none"), host?, port) {
            (Some(alias), ..) => Some(alias),
            (None, host, Some(port)) if port != "22" => Some(format!("[{host}]:{port}")),
            (None, host, _) => Some(host),
        }
    }

    fn user_and_host(&self) -> String {
        let host = &self.node.host;
        match &self.ssh.user {
            Some(user) if !host.contains('@') => printable::word(format!("{user}@{host}")),
            _ => printable::word(host),
        }
    }
}

/// Returns the first file that a setting `UserKnownHostsFile=FILE FILE` or
/// `UserKnownHostsFile FILE` names.
fn known_hosts(setting: &str) -> Option<&str> {
    let (name, files) = setting.trim().split_once(['=', ' '])?;
    let is_it = name.trim().eq_ignore_ascii_case("UserKnownHostsFile");
    files.trim_matches([' ', '=']).split(' ').next().filter(|_| is_it)
}
