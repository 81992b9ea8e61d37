use garland_protocol::files::{Attr, FileKind, Stamp};

use super::*;

fn entry(name: &[u8]) -> Entry {
    let zero = Stamp::default();
    let attr = Attr {
        kind: FileKind::File,
        mode: 0o644,
        links: 1,
        user: 0,
        group: 0,
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
    Entry { name: name.to_vec(), attr }
}

fn listed(more: Option<u64>, entries: Vec<Entry>) -> Result<Reply, Errno> {
    Ok(Reply::new(Answer::Listed { more, entries }, 1, Vec::new(), 0))
}

fn opened(more: Option<u64>, entries: Vec<Entry>) -> Result<OpenFolder, Errno> {
    OpenFolder::new(Inode::root(16, 0), listed(more, entries))
}

#[test]
fn a_listing_that_goes_on_without_entries_is_refused() {
    assert_eq!(opened(Some(3), Vec::new()).err(), Some(Errno::IO));
    assert!(opened(None, Vec::new()).is_ok(), "an empty directory");
    let folder = opened(Some(3), vec![entry(b"a")]).expect("it is sound");
    folder.listing().answered(listed(Some(3), Vec::new()));
    assert_eq!(folder.listing().failed, Some(Errno::IO));
}

#[test]
fn a_listing_with_what_is_no_name_is_refused() {
    let long = [b'x'; 1025];
    for wrong in [&b""[..], b".", b"..", b"/", b"a/b", b"a\0", &long] {
        let refused = opened(None, vec![entry(b"a"), entry(wrong)]).err();
        assert_eq!(refused, Some(Errno::IO), "{}", wrong.escape_ascii());
    }
    // Longer than a path may have: some file systems have such names, which are shown.
    assert!(opened(None, vec![entry(&long[1..]), entry(b"..."), entry(b"\xff")]).is_ok());
}
