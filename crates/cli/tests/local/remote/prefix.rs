//! What a store has below a prefix, as a tree, from a store that isn't ours.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use garland_testkit::{RunOutput, Running, Scratch, random_bytes};

use crate::remote::server::Server;
use crate::remote::{garland_in, start};

const KEYS_OF_STORE: [(&str, &str); 2] =
    [("AWS_ACCESS_KEY_ID", "KEY"), ("AWS_SECRET_ACCESS_KEY", "SECRET")];

/// A bucket with objects below `models/v1`, of a byte, of several parts, and empty; and others.
struct Bucket {
    folder: PathBuf,
    server: Server,
}

impl Bucket {
    fn new(scratch: &Scratch) -> Self {
        let folder = scratch.path("store/models/v1");
        let put = |name: &str, length, seed| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
            fs::write(path, random_bytes(length, seed)).expect("it can be written");
        };
        for shard in 0..40 {
            put(&format!("shards/{shard:03}.bin"), 100_000 + shard as usize, shard);
        }
        put("shards.json", 100, 50);
        put("config/a b.json", 1, 51);
        put("empty", 0, 52);
        put("large", (19 << 20) + 3, 53);
        put("../v10/other", 1000, 54);
        let server = Server::s3(scratch, &scratch.path("store"), &[]);
        Self { folder, server }
    }

    fn copy(&self, scratch: &Scratch, source: &str, more: &[&str]) -> RunOutput {
        let variables =
            [KEYS_OF_STORE.as_slice(), &[("AWS_ENDPOINT_URL", &self.server.url)]].concat();
        let more = [&["-r", "--json"], more].concat();
        start(scratch, source, "local[1-3]:/to/", &more, &variables).end()
    }

    /// The number of readings that the server has begun.
    fn readings(&self) -> usize {
        self.server.said().matches("GET OBJECT").count()
    }
}

/// The files below a directory, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).expect("it is a directory").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                let name = path.strip_prefix(folder).expect("it is below").display().to_string();
                all.insert(name, fs::read(path).expect("it can be read"));
            }
        }
    }
    all
}

fn assert_same(scratch: &Scratch, place: &str, wanted: &BTreeMap<String, Vec<u8>>) {
    for node in ["local1", "local2", "local3"] {
        let got = files(&scratch.root(node).join(place));
        let names = |all: &BTreeMap<String, Vec<u8>>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&got), names(wanted), "{node}");
        assert!(got == *wanted, "{node} has other bytes");
    }
}

#[test]
fn a_prefix_becomes_a_directory_and_only_what_changed_is_read_again() {
    let scratch = Scratch::new("s3-prefix");
    let bucket = Bucket::new(&scratch);
    let source = "s3://models/v1/";
    let first = bucket.copy(&scratch, source, &[]).with_code(0).json();
    let wanted = files(&bucket.folder);
    assert_eq!(wanted.len(), 44);
    assert_eq!(first["tree"]["files"], 44);
    assert_same(&scratch, "to", &wanted);
    // Each object once, the large one by its three parts, the empty one not at all.
    let once = 42 + 3;
    assert_eq!(bucket.readings(), once);

    let again = bucket.copy(&scratch, source, &[]).with_code(0).json();
    assert_eq!(again["tree"]["unchanged"], 44 + 2);
    // Only the end of the tree is sent.
    assert!(again["sent_bytes"].as_u64().is_some_and(|sent| sent < 100), "{again}");
    assert_eq!(bucket.readings(), once);

    fs::write(bucket.folder.join("shards/007.bin"), random_bytes(5000, 99)).expect("it is written");
    let third = bucket.copy(&scratch, source, &[]).with_code(0).json();
    assert!(third["sent_bytes"].as_u64().is_some_and(|sent| sent < 20_000), "{third}");
    assert_eq!(bucket.readings(), once + 1);
    assert_same(&scratch, "to", &files(&bucket.folder));
    drop(bucket);
    scratch.assert_nothing_left();
}

#[test]
fn a_prefix_without_a_slash_keeps_its_name_and_patterns_hold() {
    let scratch = Scratch::new("s3-named");
    let bucket = Bucket::new(&scratch);
    let mut wanted = files(&bucket.folder);
    let old = scratch.root("local2").join("to/v1/old");
    let _ = bucket.copy(&scratch, "s3://models/v1", &["--exclude", "*.bin"]).with_code(0);
    wanted.retain(|name, _| !name.ends_with(".bin"));
    assert_same(&scratch, "to/v1", &wanted);
    fs::write(&old, "old").expect("it is written");
    let words = ["--exclude", "*.bin", "--delete"];
    let _ = bucket.copy(&scratch, "s3://models/v1", &words).with_code(0);
    assert!(!old.exists());
    assert_same(&scratch, "to/v1", &wanted);
    drop(bucket);
    scratch.assert_nothing_left();
}

/// The listing of a store that has these keys below `k/`, each with its name as its contents; keys
/// that end in a slash are empty.
fn listing(keys: &[&str]) -> String {
    let object = |key: &&str| {
        let size = if key.ends_with('/') { 0 } else { key.len() };
        let time = "2026-11-29T01:02:03.000Z";
        format!(
            "<Contents><Key>k/{key}</Key><LastModified>{time}</LastModified><Size>{size}</Size></Contents>"
        )
    };
    let all: String = keys.iter().map(object).collect();
    format!("<?xml version=\"1.0\"?><ListBucketResult>{all}</ListBucketResult>")
}

/// Serves a bucket with these keys below `k/` until the process ends, and returns its address.
fn serve(keys: &'static [&'static str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it listens"));
    let answer = |stream: TcpStream| -> Option<()> {
        let mut reader = BufReader::new(&stream);
        loop {
            let mut request = String::new();
            reader.read_line(&mut request).ok()?;
            let path = request.split(' ').nth(1)?.to_owned();
            // Its headers, up to an empty line.
            while reader.read_line(&mut request).ok()? > 2 {}
            let (status, body) = match path.split_once("/k/") {
                None => ("200 OK", listing(keys)),
                Some((_, key)) => ("206 Partial Content", key.to_owned()),
            };
            let last = body.len().saturating_sub(1);
            let span = match status {
                "200 OK" => String::new(),
                _ => format!("Content-Range: bytes 0-{last}/{}\r\n", body.len()),
            };
            let date = "Last-Modified: Sun, 29 Nov 2026 01:02:03 GMT";
            let length = body.len();
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{span}{date}\r\n\r\n");
            (&stream).write_all((head + &body).as_bytes()).ok()?;
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    url
}

#[test]
fn keys_that_are_no_paths_are_told_and_the_others_copied() {
    const KEYS: [&str; 7] = ["good", "/x", "./y", "../z", "a&#10;b", "dir/", "full/deep"];
    let scratch = Scratch::new("s3-odd-keys");
    let url = serve(&KEYS);
    let variables = [KEYS_OF_STORE.as_slice(), &[("AWS_ENDPOINT_URL", &url)]].concat();
    let copy = |source, more: &[&str]| {
        start(&scratch, source, "local1:/to/", &[&["-r"], more].concat(), &variables).end()
    };
    let result = copy("s3://bucket/k/", &["--json"]).with_code(1).json();
    let missed = result["tree"]["left_out"].as_array().expect("they are told");
    let missed: Vec<&str> = missed.iter().filter_map(|it| it["path"].as_str()).collect();
    assert_eq!(missed, ["../z", "./y", "/x", "a\nb"], "{result}");
    let to = scratch.root("local1").join("to");
    let wanted = [("full/deep", "full/deep"), ("good", "good")];
    let wanted = wanted.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    assert_eq!(files(&to), BTreeMap::from(wanted));
    assert!(to.join("dir").is_dir());
    scratch.assert_nothing_left();
}

#[test]
fn a_listing_that_does_not_advance_is_refused() {
    // Each page names another one, in a circle. The server ends it some time.
    const PAGES: usize = 200;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it listens"));
    let pages = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&pages);
    let answer = move |stream: TcpStream| -> Option<()> {
        let mut reader = BufReader::new(&stream);
        loop {
            let mut request = String::new();
            while reader.read_line(&mut request).ok().filter(|read| *read > 0)? > 2 {}
            let number = served.fetch_add(1, Ordering::SeqCst);
            let token = ["a", "b"][number % 2];
            let next = format!("<NextContinuationToken>{token}</NextContinuationToken>");
            let next = if number < PAGES { next } else { String::new() };
            let body = listing(&["x"]).replace("</ListB", &format!("{next}</ListB"));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            (&stream).write_all((head + &body).as_bytes()).ok()?;
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || answer(stream));
        }
    });
    let scratch = Scratch::new("s3-circle");
    let variables = [KEYS_OF_STORE.as_slice(), &[("AWS_ENDPOINT_URL", &url)]].concat();
    let said = start(&scratch, "s3://bucket/k/", "local1:/to/", &["-r"], &variables).end();
    let said = said.with_code(3);
    assert!(said.err.contains("a part of the listing that it has given before"), "{}", said.err);
    assert_eq!(pages.load(Ordering::SeqCst), 4);
    scratch.assert_nothing_left();
}

#[test]
fn a_key_that_cannot_be_published_is_told_in_one_line() {
    let scratch = Scratch::new("s3-publish-odd");
    let url = serve(&["a&#10;hint: run: evil"]);
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").display().to_string();
    let run = |words: &[&str]| {
        let mut command = garland.command(words);
        command.envs(KEYS_OF_STORE).env("NO_PROXY", "*").env("AWS_ENDPOINT_URL", &url);
        Running::start(command).end()
    };
    let _ = run(&["up", "--local-root", &roots, "local1"]).with_code(0);
    let said = run(&["publish", "s3://bucket/k/", "--as", "m"]).with_code(3);
    let told = r"cannot publish s3://bucket/k/a\nhint: run: evil: its key is not a path of a file";
    assert!(said.err.contains(told), "{}", said.err);
    let _ = run(&["down"]).with_code(0);
    scratch.assert_nobody_left();
}

#[test]
fn what_is_no_tree_is_refused() {
    let scratch = Scratch::new("s3-no-tree");
    let bucket = Bucket::new(&scratch);
    let none = bucket.copy(&scratch, "s3://models/v2/", &[]).with_code(3);
    assert!(none.err.contains("there are no objects below it"), "{}", none.err);
    let none = bucket.copy(&scratch, "s3://others/", &[]).with_code(3);
    assert!(none.err.contains("s3://others/"), "{}", none.err);
    let both = bucket.copy(&scratch, "s3://models/v1/", &["--checksum"]).with_code(2);
    assert!(both.err.contains("--checksum would read all objects"), "{}", both.err);
    drop(bucket);
    scratch.assert_nothing_left();
}
