//! What ssh says when it fails, shortened to the reason, with what the user can do.

/// What ssh's words mean, and what helps.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "has changed and you have requested strict checking",
        "its host key is not the one that is known",
        "if it was installed anew: ssh-keygen -R NODE, then ssh NODE true",
    ),
    (
        "Host key verification failed",
        "its host key is not known",
        "compare it and accept it once: ssh NODE true; or ssh-keyscan NODE >> ~/.ssh/known_hosts",
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
    ("Could not resolve hostname", "its name is unknown", "is it spelled right?"),
    ("Connection refused", "no sshd listens there", "is sshd running on NODE?"),
    ("Connection timed out", "it doesn't answer", "is it up, and no firewall between?"),
    ("Operation timed out", "it doesn't answer", "is it up, and no firewall between?"),
    ("No route to host", "there is no route to it", "is it up?"),
    ("Network is unreachable", "there is no route to it", "is it up?"),
    (
        "kex_exchange_identification",
        "its sshd closed the connection at once",
        "a smaller `fanout` under [ssh] in the cluster file, or a larger MaxStartups there",
    ),
];

/// The reason in `words`, which are ssh's complaints; the complaints themselves where they aren't
/// known here. What helps names `host`, so that it can be pasted.
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

/// The methods that a refused login could have used.
fn methods(words: &str) -> Option<&str> {
    let (_, rest) = words.split_once("Permission denied (")?;
    rest.split_once(')').map(|(methods, _)| methods)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_says_is_shortened_and_helped() {
        let words = "root@n3: Permission denied (publickey).";
        assert_eq!(
            reason(words, "root@n3"),
            "ssh: the login is refused (publickey); ssh root@n3 true must work without a password: \
             ssh-copy-id root@n3"
        );
        let words = "No ED25519 host key is known for n3 and you have requested strict checking.; \
                     Host key verification failed.";
        assert!(reason(words, "n3").starts_with("ssh: its host key is not known; compare it"));
        let words = "ssh: connect to host n3 port 22: Connection refused";
        assert_eq!(reason(words, "n3"), "ssh: no sshd listens there; is sshd running on n3?");
    }

    #[test]
    fn what_is_not_known_is_told_as_it_is() {
        assert_eq!(reason("the moon is full", "n3"), "ssh: the moon is full");
    }
}
