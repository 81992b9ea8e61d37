use serde_json::json;

use super::*;

#[test]
fn options_and_their_values_are_no_sources() {
    let of_words = |words: &[&str]| {
        let all = [&["/bin/garland"], words].concat();
        of(&json!({ "command": all }))
    };
    let named = |words: &[&str]| of_words(words).unwrap();
    assert_eq!(
        named(&["--json", "cp", "--block-size", "1MiB", "data/model.bin", "n[1-2]:/x"]),
        "model.bin"
    );
    assert_eq!(named(&["cp", "-r", "a", "b/", "c", "n1:/x", "--json"]), "a, b and 1 more");
    assert_eq!(named(&["cp", "lab:n[1-2]:/var/log/syslog", "here"]), "syslog");
    assert_eq!(of_words(&["cp", "--resume", "last"]), None);
    assert_eq!(of_words(&["farm", "run"]), None);
    assert_eq!(of_words(&["cp", "--unknown", "a", "n1:/x"]), None);
}
