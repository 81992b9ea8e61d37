use garland_protocol::files::{FileKind, Stamp};

use super::*;

fn new_held() -> Held<u8> {
    let zero = Stamp::default();
    let attr = Attr {
        kind: FileKind::File,
        mode: 0o600,
        links: 1,
        user: 7,
        group: 8,
        number: 0,
        size: 0,
        blocks: 0,
        device: 1,
        inode: 2,
        born: zero,
        accessed: zero,
        modified: zero,
        changed: zero,
    };
    Held::new(&1, attr)
}

#[test]
fn bytes_and_attributes_go_together() {
    let mut held = new_held();
    assert!(held.put(&1, 0, b"ab") && held.put(&1, 2, b"c"));
    let attr = held.change(&Changes { mode: Some(0o755), ..Changes::default() }).unwrap();
    assert_eq!((attr.mode, attr.size), (0o755, 3));
    let stamp = Stamp { seconds: 5, nanos: 6 };
    let time = Some(TimeSet::To(stamp));
    let times = Changes { user: Some(7), modified: time, ..Changes::default() };
    assert_eq!(held.change(&times).unwrap().modified, stamp);
    assert!(!held.put(&1, 3, b"d"), "it would change the time that was set");
    let (owner, data, changes) = held.into_parts().unwrap();
    assert_eq!((owner, &data[FRAME_HEAD..]), (1, &b"abc"[..]));
    let both = Changes { mode: Some(0o755), modified: time, ..Changes::default() };
    assert_eq!(changes, Some(both));
}

#[test]
fn streams_and_other_writers_are_not_held() {
    let mut held = new_held();
    assert!(!held.put(&1, 1, b"a") && !held.put(&2, 0, b"a"));
    assert!(held.put(&1, 0, &[0; MAX_HELD_BYTES]));
    assert!(!held.put(&1, MAX_HELD_BYTES as u64, b"a"));
}

#[test]
fn what_a_node_may_refuse_or_only_it_knows_is_not_held() {
    let mut held = new_held();
    let none = Changes::default();
    let unsure = [
        Changes { user: Some(0), ..none.clone() },
        Changes { group: Some(7), ..none.clone() },
        Changes { size: Some(0), ..none.clone() },
        Changes { mode: Some(0o4755), ..none.clone() },
        Changes { mode: Some(0o455), ..none.clone() },
        Changes { accessed: Some(TimeSet::Now), ..none },
    ];
    for changes in unsure {
        assert_eq!(held.change(&changes), None);
    }
    assert!(held.into_parts().is_none());
}
