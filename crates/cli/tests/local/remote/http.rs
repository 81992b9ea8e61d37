//! Web servers that aren't ours.

use garland_testkit::Scratch;

use crate::remote::server::Server;
use crate::remote::{assert_at_all, copy, file, start};

const LENGTH: u64 = (18 << 20) + 1;

#[test]
fn a_file_behind_a_url_gets_to_all_nodes() {
    let scratch = Scratch::new("http");
    let path = file(&scratch, "site/a folder/x%y.bin", LENGTH);
    let server = Server::http(&scratch, &scratch.path("site"));
    let url = format!("{}/a%20folder/x%25y.bin", server.url);
    let said = copy(&scratch, &url, "local[1-3]:/data/").with_code(0);
    assert!(said.out.contains("3 nodes"), "{}", said.out);
    let bytes = std::fs::read(path).expect("the file exists");
    assert_at_all(&scratch, 3, "data/x%y.bin", &bytes);
    // A slash within a name: no file has that one, so that a path has to name it.
    let url = format!("{}/a%20folder%2Fx%25y.bin", server.url);
    let said = copy(&scratch, &url, "local1:/data/").with_code(3);
    let why = "it is a directory, and the source has no name; append a file name";
    assert!(said.out.contains(why), "{}", said.out);
    let _ = copy(&scratch, &url, "local1:/data/named").with_code(0);
    assert_at_all(&scratch, 1, "data/named", &bytes);
    drop(server);
    scratch.assert_nothing_left();
}

#[test]
fn only_a_certificate_that_is_believed_opens_https() {
    let scratch = Scratch::new("https");
    let path = file(&scratch, "site/x", LENGTH);
    let (server, authority) = Server::https(&scratch, &scratch.path("site"));
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let url = format!("{}/x", server.url);
    let authority = authority.display().to_string();
    let copy =
        |file: &str| start(&scratch, &url, "local[1-2]:/y", &[], &[("SSL_CERT_FILE", file)]).end();
    let _ = copy(&authority).with_code(0);
    assert_at_all(&scratch, 2, "y", &std::fs::read(&path).expect("the file exists"));
    // Somebody else's authority, and the right one for another host.
    std::fs::remove_file(scratch.root("local1").join("y")).expect("the file exists");
    let other = Server::https(&scratch, &scratch.path("site")).1.display().to_string();
    std::fs::rename(&other, scratch.path("other.pem")).expect("it can be moved");
    let said = copy(&scratch.path("other.pem").display().to_string()).with_code(3);
    assert!(said.err.contains("certificate"), "{}", said.err);
    assert!(!scratch.root("local1").join("y").exists());
    drop(server);
    scratch.assert_nothing_left();
}

#[test]
fn authorities_that_cannot_be_read_are_an_error_before_anything_is_asked() {
    let scratch = Scratch::new("authorities");
    let missing = scratch.path("none").display().to_string();
    // Nobody listens there.
    let url = "https://127.0.0.1:1/x";
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let said = start(&scratch, url, "local1:/y", &[], &[(name, &missing)]).end().with_code(3);
        let why = format!("cannot read {missing}, which {name} names: ");
        let hint = format!("unset {name}");
        assert!(said.err.contains(&why) && said.err.contains(&hint), "{}", said.err);
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_server_without_ranges_will_do() {
    let scratch = Scratch::new("plain");
    let path = file(&scratch, "site/x", LENGTH);
    let server = Server::plain(&scratch, &scratch.path("site"));
    let _ = copy(&scratch, &format!("{}/x", server.url), "local[1-2]:/y").with_code(0);
    assert_at_all(&scratch, 2, "y", &std::fs::read(path).expect("the file exists"));
    let said = copy(&scratch, &format!("{}/none", server.url), "local1:/y").with_code(3);
    assert!(said.err.contains("/none: the server returned 404 Not Found"), "{}", said.err);
    drop(server);
    scratch.assert_nothing_left();
}

#[test]
fn what_can_not_be_is_refused_before_anything_is_done() {
    let scratch = Scratch::new("refusals");
    for (words, why) in [
        (["-r", "https://b/folder", "local1:/x"].as_slice(), "cannot be copied together"),
        (&["s3://b/folder/", "local1:/x"], "s3://b/folder/ is not a single object"),
        (&["s3://", "local1:/x"], "the bucket is missing"),
        (&["Cargo.toml", "s3://b/k"], "cannot be a destination, only a source"),
        (&["--order", "wires", "Cargo.toml", "local1:/x"], "no measurement of the wires"),
    ] {
        std::fs::write(scratch.path("Cargo.toml"), "x").expect("there is room");
        let said = crate::remote::garland_in(&scratch).cp(words).with_code(2);
        assert!(said.err.contains(why), "{words:?}: {}", said.err);
    }
    scratch.assert_nothing_left();
}
