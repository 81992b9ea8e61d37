//! A fabric between nodes that lack the helper for it.

use std::process::Output;

use garland_testkit::{Sshd, fabric_helper, said};

use crate::ssh::{assert_nothing_left, cached, field_of, garland};

/// `garland ping` over a fabric, from a head whose helper is in the file `helper`.
fn ping(field: &Sshd, helper: &str) -> Output {
    let provider = ["--transport", "fabric", "--provider", "tcp;ofi_rxm"];
    let arguments = [&["ping", "n[1-2]", "-n", "50", "--json"], &provider[..]].concat();
    garland(field, &arguments).env("GARLAND_FABRIC", helper).output().expect("garland starts")
}

#[test]
fn nodes_get_the_helper_from_the_head_and_keep_nothing_of_it() {
    let field = field_of(2);
    let output = ping(&field, fabric_helper().to_str().expect("a plain path"));
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\"provider\": \"tcp;ofi_rxm\""), "{text}");
    assert!(text.contains("\"verdict\": \"ok\""), "{text}");
    for node in 1..=2 {
        assert_eq!(cached(&field, node).len(), 1, "the binary alone");
    }
    assert_nothing_left(&field);
}

#[test]
fn without_one_on_the_head_it_is_said_how_to_get_it() {
    let field = field_of(2);
    let output = ping(&field, "/nowhere/garland-fabric");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("there is no garland-fabric on this node (in /mnt/home/.cache/"),
        "{text}"
    );
    assert!(text.contains("`make fabric` builds it, beside garland on the head"), "{text}");
    assert_nothing_left(&field);
}
