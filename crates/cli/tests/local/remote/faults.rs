//! Servers that misbehave.

use std::time::Duration;

use garland_testkit::{FLOOD, Manner, Scratch, Site, random_bytes};

use crate::remote::{assert_at_all, assert_hidden, assert_nowhere, copy, start};

/// Some parts of a source, and a bit.
const LENGTH: usize = (20 << 20) + 5;

fn bytes() -> Vec<u8> {
    random_bytes(LENGTH, 7)
}

/// Copies from a site of this manner to two nodes, well.
#[track_caller]
fn succeeds(name: &str, manner: Manner) -> Site {
    let scratch = Scratch::new(name);
    let site = Site::start(bytes(), manner);
    let _ = copy(&scratch, &format!("{}/f/x", site.url()), "local[1-2]:/").with_code(0);
    assert_at_all(&scratch, 2, "x", &bytes());
    scratch.assert_nothing_left();
    site
}

/// Copies from a site of this manner in vain; what is said of it.
#[track_caller]
fn fails(name: &str, manner: Manner) -> String {
    let scratch = Scratch::new(name);
    let site = Site::start(bytes(), manner);
    let source = format!("{}/f/x?secret=5ec3e7", site.url());
    let said = copy(&scratch, &source, "local[1-2]:/").with_code(3);
    assert_nowhere(&scratch, 2);
    scratch.assert_nothing_left();
    let all = format!("{}{}", said.out, said.err);
    assert!(!all.contains("5ec3e7"), "{all}");
    all
}

#[test]
fn each_byte_is_read_once() {
    let site = succeeds("once", Manner::Well);
    assert_eq!(site.sent(), LENGTH as u64, "{:?}", site.log());
    let pinned = site.log().iter().filter(|asked| asked.if_match.is_some()).count();
    assert_eq!(pinned, 2, "all parts but the first are of the same file");
}

#[test]
fn one_that_is_busy_at_first_is_asked_again() {
    let refuses = |status| Manner::Refuses(3, status, "");
    let _ = succeeds("busy", refuses("503 Slow Down"));
    let _ = succeeds("rated", refuses("429 Too Many Requests"));
}

#[test]
fn one_that_stays_busy_is_given_up() {
    let said = fails("gone", Manner::Refuses(usize::MAX, "503 Service Unavailable", ""));
    assert!(
        said.contains("the server returned 503 Service Unavailable (after 6 retries"),
        "{said}"
    );
}

#[test]
fn what_is_torn_goes_on_where_it_was_torn() {
    let site = succeeds("torn", Manner::Tears(3));
    assert_eq!(site.sent(), LENGTH as u64, "{:?}", site.log());
}

#[test]
fn one_that_hangs_up_is_asked_again() {
    let _ = succeeds("drops", Manner::Drops);
}

#[test]
fn one_that_moved_is_followed() {
    let site = succeeds("moved", Manner::Moves);
    assert!(site.log().iter().any(|asked| asked.path == "/moved/f/x"), "{:?}", site.log());
}

#[test]
fn one_that_leads_to_an_inner_address_or_to_another_scheme_is_not_followed() {
    for (address, why) in [
        ("http://169.254.169.254/latest/meta-data", "which has the inner address 169.254.169.254"),
        ("http://10.1.2.3/internal/restart", "which has the inner address 10.1.2.3"),
        ("ftp://127.0.0.1/x", "ftp although it was asked by another scheme"),
    ] {
        let said = fails("led", Manner::MovesTo(address));
        assert!(said.contains(why) && said.contains("which is not followed"), "{said}");
    }
}

#[test]
fn one_without_ranges_is_read_as_a_whole_once() {
    let site = succeeds("whole", Manner::Whole);
    let whole = site.log().iter().filter(|asked| asked.sent == LENGTH as u64).count();
    assert_eq!(whole, 1, "{:?}", site.log());
}

#[test]
fn what_changes_in_the_middle_appears_nowhere() {
    let scratch = Scratch::new("changes");
    let site = Site::start(bytes(), Manner::Changes);
    let said = copy(&scratch, &format!("{}/f/x", site.url()), "local[1-2]:/").with_code(3);
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains("/f/x changed while it was copied"), "{all}");
    assert_hidden(&scratch, 2);
    // The next copy takes what fits and removes the rest.
    let site = Site::start(bytes(), Manner::Well);
    let _ = copy(&scratch, &format!("{}/f/x", site.url()), "local[1-2]:/").with_code(0);
    assert_at_all(&scratch, 2, "x", &bytes());
    scratch.assert_nothing_left();
}

#[test]
fn one_that_does_not_tell_a_length_is_refused() {
    let said = fails("endless", Manner::Endless);
    assert!(said.contains("the server does not send the file's length"), "{said}");
}

#[test]
fn refusals_are_told_as_they_are() {
    for (status, body, words) in [
        ("404 Not Found", "", "the server returned 404 Not Found"),
        ("403 Forbidden", "", "check whether the URL needs a login, or has expired"),
        (
            "400 Bad Request",
            "<Error><Code>ExpiredToken</Code><Message>Too old.</Message></Error>",
            "the server returned ExpiredToken: Too old",
        ),
    ] {
        let said = fails("refused", Manner::Refuses(usize::MAX, status, body));
        assert!(said.contains("cannot open http://127.0.0.1:"), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

/// Copies `source` from a site that floods its clients with this status, in an environment with
/// these variables; what is said of it. The head keeps a small part of what the site has to say.
#[track_caller]
fn floods(source: &str, status: &'static str, variables: &[(&str, &str)]) -> String {
    let scratch = Scratch::new("flood");
    let site = Site::start(Vec::new(), Manner::Floods(status));
    let token = scratch.path("token");
    std::fs::write(&token, "token").expect("it is written");
    let is_s3 = source.starts_with("s3:");
    let source = if is_s3 { source.to_owned() } else { format!("{}{source}", site.url()) };
    let more: &[&str] = if source.ends_with('/') { &["-r"] } else { &[] };
    let url = site.url();
    let token = token.display().to_string();
    let mut variables: Vec<(&str, &str)> = variables.to_vec();
    variables.push(("AWS_ENDPOINT_URL", &url));
    variables.push(("AWS_CONTAINER_CREDENTIALS_FULL_URI", &url));
    variables.push(("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &token));
    let said = start(&scratch, &source, "local1:/", more, &variables).end().with_code(3);
    assert_nowhere(&scratch, 1);
    scratch.assert_nothing_left();
    let log = site.log();
    // The buffers of a connection take some, too.
    assert!(log.iter().all(|asked| asked.sent < FLOOD as u64 / 2), "{log:?}");
    said.err
}

#[test]
fn replies_without_end_do_not_fill_the_memory() {
    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "K"), ("AWS_SECRET_ACCESS_KEY", "S")];
    let said = floods("/f/x", "404 Not Found", &[]);
    assert!(said.contains("the server returned 404 Not Found"), "{said}");
    assert!(said.contains("of which 64 KiB were read"), "{said}");
    let said = floods("/f/x", "416 Range Not Satisfiable", &[]);
    assert!(said.contains("the server returned 416 Range Not Satisfiable"), "{said}");
    let said = floods("s3://bucket/k/", "403 Forbidden", &KEYS);
    assert!(said.contains("the server returned 403 Forbidden"), "{said}");
    // A service of credentials.
    let said = floods("s3://bucket/k", "200 OK", &[]);
    assert!(said.contains("the server's reply is longer than"), "{said}");
}

#[test]
fn what_a_server_says_is_part_of_one_line() {
    for (status, body) in [
        (
            "404 Not Found",
            "<Error><Code>NoSuchKey</Code><Message>no\nhint: run: evil</Message></Error>",
        ),
        ("400 Bad Request", "<Error><Code>Bad\nhint: run: evil</Code></Error>"),
    ] {
        let said = fails("forged", Manner::Refuses(usize::MAX, status, body));
        assert!(said.contains("\\nhint: run: evil"), "{said}");
        assert!(!said.contains("\nhint: run: evil"), "{said}");
    }
}

#[test]
fn nobody_there_is_told() {
    let scratch = Scratch::new("nobody");
    let url = Site::start(Vec::new(), Manner::Well).url();
    let said = copy(&scratch, &format!("{url}/x"), "local1:/").with_code(3);
    assert!(said.err.to_lowercase().contains("connection refused"), "{}", said.err);
    let said = copy(&scratch, &format!("http://{}/x", "h".repeat(64)), "local1:/").with_code(3);
    assert!(said.err.contains("unknown host name"), "{}", said.err);
    scratch.assert_nothing_left();
}

#[test]
fn an_interrupt_ends_a_slow_one() {
    let scratch = Scratch::new("slow");
    let site = Site::start(bytes(), Manner::Slowly(Duration::from_secs(3)));
    let copy = start(&scratch, &format!("{}/x", site.url()), "local1:/", &[], &[]);
    garland_testkit::until("a request", || {
        !site.log().is_empty() || scratch.root("local1").exists()
    });
    copy.process().interrupt();
    let _ = copy.end().with_code(130);
    assert_nowhere(&scratch, 1);
    scratch.assert_nothing_left();
}

#[test]
fn nothing_is_something_to_copy() {
    let scratch = Scratch::new("nothing");
    let site = Site::start(Vec::new(), Manner::Well);
    let _ = copy(&scratch, &format!("{}/x", site.url()), "local1:/").with_code(0);
    assert_at_all(&scratch, 1, "x", b"");
}
