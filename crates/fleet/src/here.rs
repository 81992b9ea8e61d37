//! The cluster file in the working directory. It is used without an option, so it must belong to
//! the user, and must not make ssh run programs on this machine.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use garland_core::cluster::{Cluster, Ssh};
use garland_core::printable;
use garland_sys::{ownership, process};
use garland_terminal::failure::{Failure, OrFailure};

/// Options of ssh(1) that take no value and run no program on this machine.
const FLAGS: &str = "46CTaqvxk";

/// Options of ssh(1) that take a value, and run no program on this machine if the value passes
/// [`is_sound`].
const VALUED: &str = "BJbcilmop";

/// Keywords of ssh_config(5) that neither run a program, nor load a library, nor read more options,
/// nor give the nodes access to this machine. All others are refused: ProxyCommand, LocalCommand,
/// KnownHostsCommand, PKCS11Provider, SecurityKeyProvider, XAuthLocation, Include, Match, and
/// keywords of later versions of ssh.
const HARMLESS: &str = "\
    addressfamily batchmode bindaddress bindinterface canonicaldomains \
    canonicalizefallbacklocal canonicalizehostname canonicalizemaxdots casignaturealgorithms \
    certificatefile checkhostip ciphers clearallforwardings compression connectionattempts \
    connecttimeout fingerprinthash globalknownhostsfile gssapiauthentication hashknownhosts \
    hostbasedacceptedalgorithms hostbasedauthentication hostkeyalgorithms hostname \
    identitiesonly identityagent identityfile ipqos kbdinteractiveauthentication \
    kexalgorithms loglevel macs nohostauthenticationforlocalhost numberofpasswordprompts \
    passwordauthentication port preferredauthentications proxyjump pubkeyacceptedalgorithms \
    pubkeyacceptedkeytypes pubkeyauthentication rekeylimit requiredrsasize \
    serveralivecountmax serveraliveinterval stricthostkeychecking tcpkeepalive \
    updatehostkeys user userknownhostsfile verifyhostkeydns visualhostkey";

/// Reads the cluster file `path`, a name in the working directory.
///
/// # Errors
/// When other users may write or replace it, when an ssh option in it may run a program here, and
/// when it is not a valid cluster file.
pub fn read(path: &Path) -> Result<Cluster, Failure> {
    let shown = printable::path(path);
    let doing = || format!("cannot read {shown}");
    // A symbolic link must belong to the user, too. Opening a pipe could block.
    let link = fs::symlink_metadata(path).or_nothing(doing())?;
    if link.uid() != process::user_id() {
        return Err(strange(path, &format!("it belongs to user {}", link.uid())));
    }
    let is_file = fs::metadata(path).or_nothing(doing())?.is_file();
    if !is_file {
        return Err(unused(path, "it is not a regular file"));
    }
    let mut file = File::open(path).or_nothing(doing())?;
    let opened = file.metadata().or_nothing(doing())?;
    let folder = fs::metadata(".").or_nothing("cannot stat the working directory")?;
    let of_folder = || ownership::fault_of_folder(Path::new("."), &folder);
    let fault = ownership::fault_of_file(path, &opened).or_else(of_folder);
    if let Some(why) = fault {
        return Err(strange(path, &why));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).or_nothing(doing())?;
    let cluster = Cluster::parse(&text, &shown.to_string())?;
    match fault_of_ssh(&cluster.ssh) {
        Some(why) => Err(unused(path, &why)),
        None => Ok(cluster),
    }
}

/// The failure for a file that another user has written, or may have. Whoever names it trusts that
/// user: what its ssh options say runs on this machine.
fn strange(path: &Path, why: &str) -> Failure {
    let shown = printable::path(path);
    Failure::usage(format!("./{shown} is not used: {why}"))
        .hint("run the command in another directory; another user may have put the file here")
}

fn unused(path: &Path, why: &str) -> Failure {
    let shown = printable::path(path);
    Failure::usage(format!("./{shown} is not used: {why}")).hint(format!(
        "to use it all the same: --cluster {shown}, or move it to ~/.config/garland/cluster.toml"
    ))
}

/// Returns why the ssh options are refused; none if they neither run a program on this machine nor
/// change its files.
fn fault_of_ssh(ssh: &Ssh) -> Option<String> {
    if ssh.user.as_ref().is_some_and(|user| !is_name(user)) {
        return Some("`user` under [ssh] has characters that are special to a shell".into());
    }
    let mut words = ssh.options.iter();
    while let Some(word) = words.next() {
        let letters = word.strip_prefix('-').filter(|rest| !rest.is_empty());
        let Some(letters) = letters.filter(|rest| !rest.starts_with('-')) else {
            return Some(format!("{word:?} in `options` under [ssh] is not an option of ssh"));
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

fn danger(option: &str) -> String {
    format!(
        "`{option}` in `options` under [ssh] may run a program or change files on this machine; \
         this is allowed only in a file given with --cluster"
    )
}

/// Returns the option that is not safe with this value, for messages; none if the value is safe.
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
    // Accept only a plain keyword and value: ssh also accepts keywords in other forms, such as in
    // quotes.
    let parted = rest.starts_with(['=', ' ', '\t']);
    let lower = keyword.to_ascii_lowercase();
    let harmless =
        parted && HARMLESS.split(' ').any(|known| known == lower) && is_sound(&lower, value);
    let name = if keyword.is_empty() { line } else { keyword };
    (!harmless).then(|| name.to_owned())
}

fn is_sound(keyword: &str, value: &str) -> bool {
    match keyword {
        // ssh passes this value to a shell; old versions do not check its characters.
        "proxyjump" => value.split(',').all(is_name),
        // The user's own ProxyCommand may contain these values as %h and %r.
        "user" | "hostname" => is_name(value),
        // Some builds of ssh load a library that is named in a pkcs11 URI.
        "identityfile" | "certificatefile" => !value.to_ascii_lowercase().contains("pkcs11:"),
        // ssh writes to this file.
        "userknownhostsfile" => matches!(value, "/dev/null" | "none"),
        _ => !value.contains(|c: char| c.is_control()),
    }
}

/// Returns whether `text` is a user or host name that has no characters special to a shell.
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
    fn options_that_may_run_a_program_here_are_refused_in_every_spelling() {
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
                    let why = fault(options).unwrap_or_else(|| panic!("{options:?} is accepted"));
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
    fn values_that_a_shell_or_a_loader_would_interpret_are_refused() {
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
    fn harmless_login_options_are_accepted() {
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
}
