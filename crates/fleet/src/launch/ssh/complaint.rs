//! Translates error messages of ssh into short reasons with hints.

/// For each known error: a part of ssh's message, the reason, and a hint. In the hint, NODE is
/// replaced by the host.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "has changed and you have requested strict checking",
        "its host key differs from the known one",
        "if the node was reinstalled: ssh-keygen -R NODE, then ssh NODE true",
    ),
    (
        "Host key verification failed",
        "its host key is not known",
        "check and accept it once: ssh NODE true; or ssh-keyscan NODE >> ~/.ssh/known_hosts",
    ),
    (
        "Permission denied",
        "the login is refused",
        "ssh NODE true must work without a password: ssh-copy-id NODE",
    ),
    (
        "Too many authentication failures",
        "the login is refused after too many keys",
        "name the key in ~/.ssh/config: IdentityFile and IdentitiesOnly yes",
    ),
    ("Could not resolve hostname", "its name cannot be resolved", "check the spelling"),
    ("Connection refused", "the connection is refused", "check that sshd runs on NODE"),
    ("timed out", "it does not answer", "check that it is up, and that no firewall blocks ssh"),
    ("No route to host", "there is no route to it", "check that it is up"),
    ("Network is unreachable", "there is no route to it", "check that it is up"),
    (
        "kex_exchange_identification",
        "its sshd closed the connection at once",
        "decrease `fanout` under [ssh] in the cluster file, or increase MaxStartups in its sshd_config",
    ),
];

/// Returns the reason for ssh's error messages `words`, with a hint about `host`. Returns `words`
/// themselves if they match no known error.
pub fn reason(words: &str, host: &str) -> String {
    match KNOWN.iter().find(|(sign, ..)| words.contains(sign)) {
        Some((_, meaning, hint)) => {
            let methods = methods(words).map(|methods| format!(" ({methods})"));
            let hint = hint.replace("NODE", host);
            format!("ssh: {meaning}{}; {hint}", methods.unwrap_or_default())
        }
        None => format!("ssh: {words}"),
    }
}

/// Returns the login methods in ssh's `Permission denied (publickey,password)`.
fn methods(words: &str) -> Option<&str> {
    let (_, rest) = words.split_once("Permission denied (")?;
    rest.split_once(')').map(|(methods, _)| methods)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            reason(words, "n3"),
            "ssh: the connection is refused; check that sshd runs on n3"
        );
    }

    #[test]
    fn unknown_errors_are_kept() {
        assert_eq!(reason("the moon is full", "n3"), "ssh: the moon is full");
    }
}
