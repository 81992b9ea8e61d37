//! The cluster file of the working directory. It is found without being named, so it must be the
//! user's own, and may not make ssh run anything on this machine.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use garland_core::cluster::{Cluster, Ssh};
use garland_sys::process;

use garland_terminal::failure::{Failure, OrFailure};

/// Options of ssh(1) that take no value and run nothing here.
const FLAGS: &str = "46CTaqvxk";

/// Options of ssh(1) that take a value and run nothing here, if the value is sound.
const VALUED: &str = "BJbcilmop";

/// Keywords of ssh_config(5) that neither run a program, nor load a library, nor read more options,
/// nor open the way for the nodes to this machine. What isn't listed is refused: ProxyCommand,
/// LocalCommand, KnownHostsCommand, PKCS11Provider, SecurityKeyProvider, XAuthLocation, Include,
/// Match, and whatever a later ssh brings.
const HARMLESS: &[&str] = &[
    "addressfamily",
    "batchmode",
    "bindaddress",
    "bindinterface",
    "canonicaldomains",
    "canonicalizefallbacklocal",
    "canonicalizehostname",
    "canonicalizemaxdots",
    "casignaturealgorithms",
    "certificatefile",
    "checkhostip",
    "ciphers",
    "clearallforwardings",
    "compression",
    "connectionattempts",
    "connecttimeout",
    "fingerprinthash",
    "globalknownhostsfile",
    "gssapiauthentication",
    "hashknownhosts",
    "hostbasedacceptedalgorithms",
    "hostbasedauthentication",
    "hostkeyalgorithms",
    "hostname",
    "identitiesonly",
    "identityagent",
    "identityfile",
    "ipqos",
    "kbdinteractiveauthentication",
    "kexalgorithms",
    "loglevel",
    "macs",
    "nohostauthenticationforlocalhost",
    "numberofpasswordprompts",
    "passwordauthentication",
    "port",
    "preferredauthentications",
    "proxyjump",
    "pubkeyacceptedalgorithms",
    "pubkeyacceptedkeytypes",
    "pubkeyauthentication",
    "rekeylimit",
    "requiredrsasize",
    "serveralivecountmax",
    "serveraliveinterval",
    "stricthostkeychecking",
    "tcpkeepalive",
    "updatehostkeys",
    "user",
    "userknownhostsfile",
    "verifyhostkeydns",
    "visualhostkey",
];

/// Reads the cluster file `path`, a name in the working directory.
///
/// # Errors
/// When others may write it or replace it, when it has an option that may run something here, and
/// when it is no cluster file.
pub fn read(path: &Path) -> Result<Cluster, Failure> {
    let shown = path.display();
    let doing = || format!("reading {shown}");
    // A link counts as its owner's word, and a pipe isn't waited for.
    let link = fs::symlink_metadata(path).or_nothing(doing())?;
    let is_file = fs::metadata(path).or_nothing(doing())?.is_file();
    if !is_file {
        return Err(unused(path, "it is not a regular file"));
    }
    let mut file = File::open(path).or_nothing(doing())?;
    let opened = file.metadata().or_nothing(doing())?;
    let folder = fs::metadata(".").or_nothing("asking about the working directory")?;
    let user = process::user_id();
    if link.uid() != user {
        return Err(unused(path, &format!("it belongs to user {}", link.uid())));
    }
    let [opened, folder] = [opened, folder].map(|meta| Rights::of(&meta));
    if let Some(why) = opened.fault_of_file(user).or_else(|| folder.fault_of_folder(user)) {
        return Err(unused(path, &why));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).or_nothing(doing())?;
    let cluster = Cluster::parse(&text, &shown.to_string()).map_err(Failure::usage)?;
    match fault_of_ssh(&cluster.ssh) {
        Some(why) => Err(unused(path, &why)),
        None => Ok(cluster),
    }
}

fn unused(path: &Path, why: &str) -> Failure {
    let shown = path.display();
    Failure::usage(format!("./{shown} is not used: {why}")).hint(format!(
        "if it is meant, say so by --cluster {shown}, or move it to ~/.config/garland/cluster.toml"
    ))
}

/// Whose something is, and what others may do to it.
struct Rights {
    user: u32,
    mode: u32,
    /// The group is the user's alone, if the group's right to write matters.
    alone_in_group: bool,
}

impl Rights {
    fn of(meta: &Metadata) -> Self {
        let mode = meta.mode();
        let alone_in_group = mode & 0o020 != 0 && is_private_group(meta.gid());
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

    /// In a sticky directory, such as /tmp, nobody else can replace the user's own file.
    fn fault_of_folder(&self, user: u32) -> Option<String> {
        if self.user != user && self.user != 0 {
            return Some(format!("its directory belongs to user {}", self.user));
        }
        let mode = self.mode & 0o7777;
        let open = self.others_write() && self.mode & 0o1000 == 0;
        open.then(|| format!("other users may replace it, by its directory's mode {mode:04o}"))
    }
}

/// Whether a group is this user's own and has no other member, as systems make one for each user.
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

/// Which option may run something on this machine, or change its files.
fn fault_of_ssh(ssh: &Ssh) -> Option<String> {
    if ssh.user.as_ref().is_some_and(|user| !is_name(user)) {
        return Some(
            "`user` under [ssh] has characters that a shell may take for a command".into(),
        );
    }
    let mut words = ssh.options.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|rest| is_letters(rest)) else {
            return Some(format!("{word:?} in `options` under [ssh] is no option of ssh"));
        };
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            if FLAGS.contains(letter) {
                continue;
            }
            let value = match letters.as_str() {
                "" => words.next().map_or("", String::as_str),
                rest => rest,
            };
            if !VALUED.contains(letter) {
                return Some(danger(&format!("-{letter}")));
            }
            if let Some(name) = fault_of_value(letter, value) {
                return Some(danger(&name));
            }
            break;
        }
    }
    None
}

/// Whether this is what may follow the `-` of options.
fn is_letters(rest: &str) -> bool {
    !rest.is_empty() && !rest.starts_with('-')
}

fn danger(option: &str) -> String {
    format!(
        "`{option}` in `options` under [ssh] may run a program or change files on this machine, \
         which a file that nobody named mustn't"
    )
}

/// The option, if this value of it may do harm.
fn fault_of_value(letter: char, value: &str) -> Option<String> {
    if letter != 'o' {
        let keyword = match letter {
            'J' => "proxyjump",
            'i' => "identityfile",
            'l' => "user",
            _ => "",
        };
        return (!is_sound(keyword, value)).then(|| format!("-{letter} {value}"));
    }
    let line = value.trim_start();
    let end = line.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let value = rest.trim_start();
    let value = value.strip_prefix('=').unwrap_or(value).trim();
    // What follows must be the value: ssh has more ways to write a keyword than anybody uses.
    let parted = rest.starts_with(['=', ' ', '\t']);
    let lower = keyword.to_ascii_lowercase();
    let harmless = parted && HARMLESS.contains(&&*lower) && is_sound(&lower, value);
    let name = if keyword.is_empty() { line } else { keyword };
    (!harmless).then(|| name.to_owned())
}

fn is_sound(keyword: &str, value: &str) -> bool {
    match keyword {
        // ssh makes a command of it for the shell; older versions don't look at what is in it.
        "proxyjump" => value.split(',').all(is_name),
        // The user's own ProxyCommand may have them as %h and %r.
        "user" | "hostname" => is_name(value),
        // Some builds load a library that such a name tells.
        "identityfile" | "certificatefile" => !value.to_ascii_lowercase().contains("pkcs11:"),
        // ssh writes there.
        "userknownhostsfile" => matches!(value, "/dev/null" | "none"),
        _ => !value.contains(|c: char| c.is_control()),
    }
}

/// A name of a user or host that no shell takes for anything else.
fn is_name(text: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.@:%[]/+".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(options: &[&str]) -> Option<String> {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        fault_of_ssh(&Ssh { options, ..Ssh::default() })
    }

    #[test]
    fn options_that_run_something_here_are_refused_however_they_are_written() {
        // ssh_config(5) and ssh(1) of OpenSSH 10.
        let keywords = "ProxyCommand LocalCommand PermitLocalCommand KnownHostsCommand PKCS11Provider \
                        SecurityKeyProvider SmartcardDevice XAuthLocation Include Match Host \
                        RemoteCommand ProxyUseFdpass ControlPath ControlMaster ControlPersist \
                        LocalForward RemoteForward DynamicForward ForwardAgent ForwardX11 Tunnel \
                        AddKeysToAgent HostKeyAlias SendEnv SetEnv UnknownYet";
        for keyword in keywords.split_whitespace() {
            let upper = keyword.to_uppercase();
            for line in [format!("{keyword}=x"), format!("{upper} x"), format!(" {keyword}\t=  x")]
            {
                for options in
                    [&[&*format!("-o{line}")][..], &["-o", &line], &[&*format!("-4vo{line}")]]
                {
                    let why =
                        fault(options).unwrap_or_else(|| panic!("{options:?} is let through"));
                    assert!(why.contains(keyword) || why.contains(&upper), "{why}");
                }
            }
        }
        for option in ["-oProxyCommand", "-o\"ProxyCommand\"=x", "-o=x", "-o#", "-o", "-o\nHost=x"]
        {
            assert!(fault(&[option]).is_some(), "{option}");
        }
        for letter in "ADEFGIKLMNOPQRSVWXYefgnstwy".chars() {
            assert!(fault(&[&format!("-{letter}"), "x"]).is_some(), "-{letter}");
            assert!(fault(&[&format!("-4{letter}x")]).is_some(), "-4{letter}");
        }
        for word in ["host", "--", "-", "--version", ""] {
            assert!(fault(&["-4", word]).is_some(), "{word}");
        }
    }

    #[test]
    fn values_that_a_shell_or_a_library_would_get_are_refused() {
        for options in [
            &["-J", "$(touch x)"][..],
            &["-J-oProxyCommand=x"],
            &["-oProxyJump=a;b"],
            &["-oHostname=`x`"],
            &["-l", "a|b"],
            &["-i", "pkcs11:?module-path=/tmp/x.so"],
            &["-oIdentityFile=PKCS11:x"],
            &["-oUserKnownHostsFile=.bashrc"],
        ] {
            assert!(fault(options).is_some(), "{options:?}");
        }
        let ssh = Ssh { user: Some("$(x)".to_owned()), ..Ssh::default() };
        assert!(fault_of_ssh(&ssh).is_some());
    }

    #[test]
    fn options_that_only_say_how_to_log_in_are_taken() {
        for options in [
            &["-oPort=2222"][..],
            &["-p", "2222", "-4", "-vv", "-C"],
            &["-i", "~/.ssh/cluster", "-oIdentitiesOnly=yes", "-l", "admin"],
            &["-J", "admin@gate:22,inner", "-o", "StrictHostKeyChecking accept-new"],
            &["-oUserKnownHostsFile=/dev/null", "-o ConnectTimeout = 3"],
            &[],
        ] {
            assert_eq!(fault(options), None, "{options:?}");
        }
    }

    #[test]
    fn what_others_may_write_or_replace_is_not_the_users_own() {
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
        assert_eq!(folder(1000, 0o041_777), None, "as are directories of the user's own");
        assert!(folder(1000, 0o040_775).is_some_and(|why| why.contains("0775")));
        assert!(folder(1000, 0o040_757).is_some());
        assert!(folder(1001, 0o040_755).is_some(), "its owner may replace what is in it");
        // Debian and others give each user a group of his own.
        let own = Rights { user: 1000, mode: 0o040_775, alone_in_group: true };
        assert_eq!((own.fault_of_folder(1000), own.fault_of_file(1000)), (None, None));
        let open = Rights { mode: 0o040_777, ..own };
        assert!(open.fault_of_folder(1000).is_some() && open.fault_of_file(1000).is_some());
    }
}
