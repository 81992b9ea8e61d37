//! Tests of the digests that nodes report.

use super::*;

fn blocks(first: u64, end: u64) -> LaneBlocks {
    LaneBlocks { first, run: end - first, step: end - first, end }
}

#[test]
fn digests_of_parts_are_collected_and_missing_parts_are_named() {
    let layout = Layout::new(6 * 4096, 4096).unwrap();
    let mut parts = Parts::new([(0, blocks(0, 2)), (1, blocks(2, 4)), (2, blocks(4, 6))]);
    parts.take(0, vec![[1; 32]], true);
    assert!(!parts.are_settled());
    parts.take(0, vec![[2; 32]], false);
    parts.take(1, vec![[9; 32], [9; 32]], false);
    parts.fail(2, "no such file".to_owned());
    parts.fail(0, "too late".to_owned());
    parts.take(2, vec![[7; 32]], true);
    assert!(parts.are_settled());
    let mut reported = parts.reported(layout, 3);
    let some = |digit: u8| Some([digit; 32]);
    assert_eq!(reported.digests, [some(1), some(2), some(9), some(9), None, None]);
    assert_eq!(reported.samples, [(blocks(0, 2), 1), (blocks(2, 4), 3)]);
    reported.check(1, [2; 32]);
    reported.check(3, [4; 32]);
    assert_eq!(reported.digests, [some(1), some(2), None, None, None, None]);
    let missing = reported.missing().unwrap();
    assert!(missing.indices().eq(2..6));
    reported.fill(missing, [3, 4, 5, 6].map(|digit| [digit; 32]).to_vec());
    assert_eq!(reported.missing(), None);
    assert_eq!(reported.into_known(), [1, 2, 3, 4, 5, 6].map(|digit| [digit; 32]));
    let digests = [1, 2, 3, 4, 5, 6].map(|digit| [digit; 32]);
    let another = "its file at this path differs from the source";
    let wanted = [(1, another.to_owned()), (2, "no such file".to_owned())];
    assert_eq!(parts.unread(Some(&digests)), wanted);
}

#[test]
fn a_node_with_too_few_or_too_many_digests_counts_as_failed() {
    for (count, more) in [(1, false), (3, true)] {
        let mut parts = Parts::new([(4, blocks(0, 2))]);
        parts.take(4, vec![[1; 32]; count], more);
        assert!(parts.are_settled());
        assert_eq!(parts.reported(Layout::new(8192, 4096).unwrap(), 0).digests, [None, None]);
    }
    assert!(!Parts::default().are_settled());
}
