//! The line with which an agent reports that it accepts connections.

use garland_protocol::wire::ReadyLine;
use proptest::prelude::*;

#[test]
fn other_lines_are_none() {
    let key = "ab".repeat(32);
    assert!(ReadyLine::parse(&format!("garland-agent 0.1.0 4100 {key}\n")).is_some());
    for line in [
        String::new(),
        "Last login: Thu Feb  3 04:05:06 2005".to_owned(),
        format!("garland-agent 0.1.0 65536 {key}"),
        format!("garland-agent 0.1.0 4100 {}", &key[1..]),
        format!("garland-agent 0.1.0 4100 {}é", &key[2..]),
        format!("garland 0.1.0 4100 {key}"),
    ] {
        assert_eq!(ReadyLine::parse(&line), None, "{line}");
    }
}

#[test]
fn a_key_with_signs_is_no_key() {
    let key = "+a".repeat(32);
    assert_eq!(ReadyLine::parse(&format!("garland-agent 0.1.0 4100 {key}")), None);
}

proptest! {
    #[test]
    fn a_line_survives(
        port: u16,
        key in proptest::array::uniform32(any::<u8>()),
        release in "[0-9a-z.+-]{1,20}",
        log in proptest::option::of("/[a-z /]{0,20}[a-z]"),
        at in proptest::collection::vec(any::<std::net::IpAddr>(), 0..4),
    ) {
        let log = log.map(std::path::PathBuf::from);
        let line = ReadyLine { port, at, key, release, log: log.clone() };
        prop_assert_eq!(ReadyLine::parse(&format!("{line}\n")), Some(line));
    }

    #[test]
    fn any_line_is_parsed_or_refused(rest in ".*") {
        for line in [rest.clone(), format!("garland-agent {rest}")] {
            if let Some(ready) = ReadyLine::parse(&line) {
                prop_assert_eq!(ReadyLine::parse(&ready.to_string()), Some(ready));
            }
        }
    }
}
