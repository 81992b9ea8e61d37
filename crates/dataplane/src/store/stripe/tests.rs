use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::plan::{Layout, Stripes};
use garland_protocol::copy::Destination;
use garland_sys::confine::Root;

use super::*;
use crate::store::{Present, StorePlace};
use crate::tests::{Scratch, untraced};
use crate::usage::Usage;

const NAME: &str = "x.stripe-1of2";

/// All files of a directory but hidden ones: names and contents.
fn seen(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut seen: Vec<_> = entries
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            (entry.file_name().into_string().unwrap(), text)
        })
        .filter(|(name, _)| !name.starts_with('.'))
        .collect();
    seen.sort();
    seen
}

fn pair(start: &str, text: &str) -> Vec<(String, String)> {
    let file = |end: &str| format!("{start}{}{end}", NAME.strip_prefix('x').unwrap());
    vec![(file(""), format!("{text} stripe")), (file(".toml"), format!("{text} manifest"))]
}

/// A stripe with `text`, written by the copy `tag` and not committed.
fn written(folder: &Path, tag: &str, text: &str) -> Box<dyn Store> {
    let stripes = Stripes::new(10, 4096, 2).unwrap();
    let destination = Destination::File {
        path: b"/x".to_vec(),
        below: None,
        name: Vec::new(),
        mode: 0o644,
        keeps_mode: false,
        times: None,
        fsync: true,
        room: u64::MAX,
        grows: false,
        force_device: false,
    };
    let root = Root::confined(folder).unwrap();
    let text = format!("{text} stripe");
    let layout = Layout::new(text.len() as u64, 4096).unwrap();
    let usage = Arc::<Usage>::default();
    let stripe = Some(stripes.stripe(0));
    let store = super::super::open(
        &destination,
        layout,
        stripe,
        Present::Nothing,
        &StorePlace {
            root: &root,
            tag,
            disk: None,
            usage: &usage,
            log: |_| (),
            removed: &Arc::default(),
        },
    )
    .unwrap();
    store.write_at(0, text.as_bytes()).unwrap();
    store.attach(text.replace("stripe", "manifest").into_bytes());
    store
}

#[test]
fn an_older_pair_is_kept_until_all_is_settled() {
    let dir = Scratch::new("stripe-settle");
    let trace = untraced();
    let tag = "0123456789ab";
    let other = "ba9876543210";
    let first = written(&dir, other, "old");
    first.prepare(&trace).unwrap();
    assert_eq!(seen(&dir), []);
    first.commit(&trace).unwrap();
    first.settle();
    drop(first);
    assert_eq!(seen(&dir), pair("x", "old"));
    let second = written(&dir, tag, "new");
    second.prepare(&trace).unwrap();
    assert_eq!(seen(&dir), pair("x", "old"));
    second.commit(&trace).unwrap();
    let aside = format!("x.old-{tag}");
    assert_eq!(seen(&dir), [pair(&aside, "old"), pair("x", "new")].concat());
    // The user's own files stay.
    fs::write(dir.join("x.old-notes.stripe-1of2"), "mine").unwrap();
    second.settle();
    second.withdraw();
    second.abandon();
    drop(second);
    fs::remove_file(dir.join("x.old-notes.stripe-1of2")).unwrap();
    assert_eq!(seen(&dir), pair("x", "new"));
}

#[test]
fn what_was_committed_is_taken_back_and_what_was_prepared_is_gone() {
    let dir = Scratch::new("stripe-withdraw");
    let trace = untraced();
    let tags = ["0123456789ab", "1123456789ab", "2123456789ab", "3123456789ab"];
    // Without an older pair nothing is restored.
    let none = written(&dir, tags[0], "old");
    none.commit(&trace).unwrap();
    none.withdraw();
    drop(none);
    assert_eq!(seen(&dir), []);
    let old = written(&dir, tags[1], "old");
    old.commit(&trace).unwrap();
    old.settle();
    drop(old);
    let new = written(&dir, tags[2], "new");
    new.prepare(&trace).unwrap();
    new.abandon();
    new.withdraw();
    drop(new);
    assert_eq!((seen(&dir), fs::read_dir(&dir).unwrap().count()), (pair("x", "old"), 2));
    let new = written(&dir, tags[3], "new");
    new.commit(&trace).unwrap();
    new.withdraw();
    new.abandon();
    drop(new);
    assert_eq!((seen(&dir), fs::read_dir(&dir).unwrap().count()), (pair("x", "old"), 2));
}

/// Whichever step of a commit fails, the older pair is restored when the copy is given up.
#[test]
fn a_commit_that_fails_in_its_middle_is_taken_back() {
    let dir = Scratch::new("stripe-middle");
    let trace = untraced();
    let old = written(&dir, "0123456789ab", "old");
    old.commit(&trace).unwrap();
    old.settle();
    drop(old);
    let new = written(&dir, "1123456789ab", "new");
    new.prepare(&trace).unwrap();
    // Remove the hidden manifest: its rename fails after that of the stripe.
    let hidden = fs::read_dir(&dir).unwrap().flatten().map(|entry| entry.path());
    let is_manifest = |path: &PathBuf| path.to_string_lossy().contains("/.x.stripe-1of2.toml.");
    fs::remove_file(hidden.into_iter().find(is_manifest).unwrap()).unwrap();
    let error = new.commit(&trace).unwrap_err().to_string();
    assert!(error.starts_with("cannot finish /x.stripe-1of2.toml: "), "{error}");
    new.abandon();
    new.withdraw();
    drop(new);
    assert_eq!(seen(&dir), pair("x", "old"));
}
