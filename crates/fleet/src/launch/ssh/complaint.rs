//! Translates error messages of ssh into short reasons with hints.

use super::shown::ShownLogin;

/// For each known error: a part of ssh's message, the reason, and a hint. In the hint, `LOGIN`,
/// `ACCEPT`, `FORGET` and `COPY_ID` are replaced by commands ([`ShownLogin`]).
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "has changed and you have requested strict checking",
        "its host key differs from the known one",
        "if the node was reinstalled: FORGET, then LOGIN",
    ),
    (
        "Host key verification failed",
        "its host key is not known",
        "check and accept it once: LOGIN; or unchecked: ACCEPT",
    ),
    ("Permission denied (", "the login is refused", "LOGIN must work without a password: COPY_ID"),
    (
        "Too many authentication failures",
        "the login is refused after too many keys",
        "name the key in ~/.ssh/config: IdentityFile and IdentitiesOnly yes",
    ),
    ("Could not resolve hostname", "its name cannot be resolved", "check the spelling"),
    ("Connection refused", "the connection is refused", "check that sshd runs there"),
    ("timed out", "it does not answer", "check that it is up, and that no firewall blocks ssh"),
    (
        "Bad configuration option: remotecommand",
        "it is older than OpenSSH 7.6",
        "install a newer OpenSSH client on this machine",
    ),
    (
        "Cannot execute command-line and remote command",
        "its ssh configuration has a RemoteCommand",
        "write under [ssh] in the cluster file: options = [\"-o\", \"RemoteCommand=none\"]",
    ),
    ("No route to host", "there is no route to it", "check that it is up"),
    ("Network is unreachable", "there is no route to it", "check that it is up"),
    (
        CLOSED,
        "its sshd closed the connection at once",
        "decrease `fanout` under [ssh] in the cluster file, or increase MaxStartups in its sshd_config",
    ),
    (
        "kex_exchange_identification: read: Connection reset by peer",
        "its sshd closed the connection at once",
        "decrease `fanout` under [ssh] in the cluster file, or increase MaxStartups in its sshd_config",
    ),
];

/// What ssh says when the other end of its connection closes before it has said anything: an sshd,
/// or the command of a ProxyJump or ProxyCommand. Older releases begin with `ssh_exchange`.
const CLOSED: &str = "_exchange_identification: Connection closed by remote host";

/// The beginnings of ssh's messages that give no reason of their own.
const ENDS: [&str; 4] = [
    "Connection closed by ",
    "Connection reset by ",
    "stdio forwarding failed",
    "Killed by signal ",
];

/// The exit status of ssh if it failed itself.
const SSH_FAILED: u8 = 255;

/// Returns the reason why a login ended with `words` on standard error. As long as nothing of the
/// script has come, these are ssh's, and a hint about `login` follows if they match a known error.
/// Otherwise (`has_begun`) they are the node's, which may say what it likes.
pub fn reason(words: &str, login: &ShownLogin<'_>, has_begun: bool) -> String {
    if has_begun {
        return format!("ssh: {words}");
    }
    if let Some(reason) = reason_of_jump(words) {
        let command = login.command(&[]);
        return format!("ssh: {reason}; see what its jump host says: {command}");
    }
    match KNOWN.iter().find(|(sign, ..)| words.contains(sign)) {
        Some((_, meaning, hint)) => {
            let tried = methods(words).map(|methods| format!(" ({methods})"));
            format!("ssh: {meaning}{}; {}", tried.unwrap_or_default(), filled(hint, login))
        }
        None => format!("ssh: {words}"),
    }
}

/// Returns a hint of [`KNOWN`] with its commands. What one of them contains is not replaced again.
fn filled(hint: &str, login: &ShownLogin<'_>) -> String {
    let mut filled = String::new();
    for (at, word) in hint.split(' ').enumerate() {
        filled.push_str(if at > 0 { " " } else { "" });
        let bare = word.trim_end_matches([',', ';']);
        filled.push_str(&match bare {
            "LOGIN" => login.command(&[]),
            "ACCEPT" => login.command(&["-oStrictHostKeyChecking=accept-new"]),
            "FORGET" => login.forget(),
            "COPY_ID" => login.copy_id(),
            other => other.to_owned(),
        });
        filled.push_str(&word[bare.len()..]);
    }
    filled
}

/// Returns the reason for an ssh that ended with `words` before the script had begun, if these are
/// an exit status alone: that of a login shell that runs nothing and says nothing.
pub fn reason_of_silence(words: &str, login: &ShownLogin<'_>) -> Option<String> {
    let status: u8 = words.strip_prefix("exit status: ")?.parse().ok()?;
    let runs = "the login shell there ran nothing, as /bin/false does";
    let see = || format!("ssh: {runs} ({words}); see: {}", login.command(&[]));
    (status != SSH_FAILED).then(see)
}

/// Returns what the command of a ProxyJump or ProxyCommand said before it ended; `None` if there is
/// none, or if it said nothing. A reason may be about another host than the node.
fn reason_of_jump(words: &str) -> Option<String> {
    let is_direct = |line: &str| {
        line.strip_prefix("Connection closed by ").is_some_and(|from| !from.starts_with("UNKNOWN "))
    };
    if !words.contains(CLOSED) || words.split("; ").any(is_direct) {
        return None;
    }
    let is_reason = |line: &&str| {
        !line.contains(CLOSED) && !ENDS.iter().any(|end| line.trim_start().starts_with(end))
    };
    let reasons: Vec<&str> = words.split("; ").filter(is_reason).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Returns the login methods in ssh's `Permission denied (publickey,password)`.
fn methods(words: &str) -> Option<&str> {
    let (_, rest) = words.split_once("Permission denied (")?;
    rest.split_once(')').map(|(methods, _)| methods)
}

#[cfg(test)]
mod tests {
    use garland_core::cluster::{Node, Ssh};

    use super::*;

    /// The reason for `words` of an ssh to `host` with `options`.
    fn reason_with(words: &str, host: &str, options: &[&str], user: Option<&str>) -> String {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let ssh = Ssh { options, user: user.map(str::to_owned), ..Ssh::default() };
        super::reason(words, &ShownLogin::new(&ssh, &Node::named(host)), false)
    }

    fn reason(words: &str, host: &str) -> String {
        reason_with(words, host, &[], None)
    }

    #[test]
    fn hints_have_the_options_of_the_login_and_each_program_its_form_of_the_host() {
        let unknown = "Host key verification failed.";
        assert_eq!(
            reason_with(unknown, "bob@n3", &["-oPort=2222"], Some("eve")),
            "ssh: its host key is not known; check and accept it once: ssh -oPort=2222 bob@n3 true; \
             or unchecked: ssh -oStrictHostKeyChecking=accept-new -oPort=2222 bob@n3 true"
        );
        let changed = "Host key for [n3]:2222 has changed and you have requested strict checking.; \
                       Host key verification failed.";
        assert_eq!(
            reason_with(changed, "bob@n3", &["-p", "2222", "-oUserKnownHostsFile=~/known b"], None),
            "ssh: its host key differs from the known one; if the node was reinstalled: ssh-keygen \
             -f ~/known -R '[n3]:2222', then ssh -p 2222 '-oUserKnownHostsFile=~/known b' bob@n3 true"
        );
        let two_words = ["-4", "-o", "UserKnownHostsFile known"];
        let told = reason_with(changed, "n3", &two_words, None);
        assert!(told.contains("ssh-keygen -f known -R n3, then "), "{told}");
        let changed = "has changed and you have requested strict checking";
        let told = reason_with(changed, "bob@n3", &[], None);
        assert!(told.contains("ssh-keygen -R n3, then ssh bob@n3 true"), "{told}");
        let refused = "bob@n3: Permission denied (publickey).";
        assert_eq!(
            reason_with(refused, "n3", &["-4", "-p", "2222", "-J", "jump"], Some("bob")),
            "ssh: the login is refused (publickey); ssh -4 -p 2222 -J jump bob@n3 true must work \
             without a password: ssh-copy-id -p 2222 bob@n3"
        );
    }

    #[test]
    fn a_node_has_no_host_key_forgotten_by_what_it_says() {
        let words = "Host key for n9 has changed and you have requested strict checking.";
        let told = reason(words, "n3");
        assert!(told.contains("ssh-keygen -R n3, then ssh n3 true"), "{told}");
        let ssh = Ssh::default();
        let node = Node::named("n3");
        let told = super::reason(words, &ShownLogin::new(&ssh, &node), true);
        assert_eq!(told, format!("ssh: {words}"));
    }

    #[test]
    fn a_login_shell_that_says_nothing_is_named() {
        let why = "ssh: the login shell there ran nothing, as /bin/false does (exit status: 1); \
                   see: ssh n3 true";
        let ssh = Ssh::default();
        let node = Node::named("n3");
        let login = ShownLogin::new(&ssh, &node);
        assert_eq!(reason_of_silence("exit status: 1", &login).as_deref(), Some(why));
        for words in ["exit status: 255", "exit status: 1; it said: no", "signal: 9 (SIGKILL)"] {
            assert_eq!(reason_of_silence(words, &login), None, "{words}");
        }
    }

    #[test]
    fn known_errors_are_shortened_and_get_a_hint() {
        let words = "root@n3: Permission denied (publickey).";
        assert_eq!(
            reason(words, "root@n3"),
            "ssh: the login is refused (publickey); ssh root@n3 true must work without a password: \
             ssh-copy-id root@n3"
        );
        let words = "No ED25519 host key is known for n3 and you have requested strict checking.; \
                     Host key verification failed.";
        assert!(reason(words, "n3").starts_with("ssh: its host key is not known; check"));
        let words = "ssh: connect to host n3 port 22: Connection refused";
        let told = "ssh: the connection is refused; check that sshd runs there";
        assert_eq!(reason(words, "n3"), told);
        assert_eq!(
            reason("Cannot execute command-line and remote command.", "n3"),
            "ssh: its ssh configuration has a RemoteCommand; write under [ssh] in the cluster file: \
             options = [\"-o\", \"RemoteCommand=none\"]"
        );
    }

    #[test]
    fn a_full_sshd_is_told_from_a_jump_host_that_fails_and_from_other_programs() {
        let full = "ssh: its sshd closed the connection at once; decrease `fanout`";
        for words in [
            "kex_exchange_identification: Connection closed by remote host; Connection closed by \
             10.0.0.9 port 22",
            "kex_exchange_identification: read: Connection reset by peer; Connection reset by \
             10.0.0.9 port 22",
            "ssh_exchange_identification: Connection closed by remote host",
            "command-line line 0: Unsupported option; kex_exchange_identification: Connection closed \
             by remote host; Connection closed by 10.0.0.9 port 22",
            // Through a jump host that works.
            "kex_exchange_identification: Connection closed by remote host; Connection closed by \
             UNKNOWN port 65535",
            "kex_exchange_identification: read: Connection reset by peer",
        ] {
            assert!(reason(words, "n9").starts_with(full), "{}", reason(words, "n9"));
        }
        let end = "; kex_exchange_identification: Connection closed by remote host; Connection \
                   closed by UNKNOWN port 65535";
        for why in [
            "channel 0: open failed: connect failed: Temporary failure in name resolution",
            "channel 0: open failed: administratively prohibited: open failed",
            // The hints of these lines would be about n9.
            "ssh: connect to host n1 port 22: Connection refused",
            "root@n1: Permission denied (publickey).",
            "bash: line 1: nc: command not found",
        ] {
            let words = format!("{why}; stdio forwarding failed{end}");
            let told = format!("ssh: {why}; see what its jump host says: ssh n9 true");
            assert_eq!(reason(&words, "n9"), told);
        }
        let other = "kex_exchange_identification: banner line contains invalid characters";
        assert_eq!(reason(other, "n9"), format!("ssh: {other}"));
    }

    #[test]
    fn unknown_errors_are_kept() {
        assert_eq!(reason("the moon is full", "n3"), "ssh: the moon is full");
        // What the node says after the login.
        let words = "sh: 1: cannot create /x: Permission denied";
        assert_eq!(reason(words, "n3"), format!("ssh: {words}"));
    }
}
