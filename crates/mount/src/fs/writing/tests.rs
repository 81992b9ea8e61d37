use garland_sys::channel::channel;

use super::super::TopFolder;
use super::*;
use crate::peer::{HandAgent, Peer};
use crate::recording::Recording;

/// More than one call within another for each would have stacks for.
const WRITES: u64 = 100_000;

#[test]
fn any_number_of_writes_may_wait_for_a_node_that_is_lost() {
    let (ends, _agent) = HandAgent::connections();
    let peer = Peer::connected("n1", 0, ends);
    let (tell, _distrusted) = channel();
    let top = TopFolder::new(vec!["n1".to_owned()], None);
    let recording = Arc::new(Recording::begin(1, false));
    let mount = Mount::new(vec![Arc::clone(&peer)], top, tell, recording);
    let inode = Inode::root(1, 0);
    let file = OpenFile::new(Arc::clone(&inode), 1, 1, false);
    for write in 0..WRITES {
        // By turns at two places, so that none is joined with the one before it.
        inode.flow().behind.put(&file, write % 2 * 4096, b"x", false);
    }
    let (tell, told) = channel();
    let settled = move || {
        let _ = tell.send(());
    };
    mount.settle(&inode, Box::new(settled));
    assert!(told.try_recv().is_err(), "the node has not answered");
    peer.lose();
    assert_eq!(told.try_recv(), Ok(()));
    assert_eq!(file.check(), Err(Errno::IO));
}

#[test]
fn who_waits_for_writes_does_not_wait_for_later_ones() {
    let (ends, mut agent) = HandAgent::connections();
    let peer = Peer::connected("n1", 0, ends);
    let (tell, _distrusted) = channel();
    let top = TopFolder::new(vec!["n1".to_owned()], None);
    let recording = Arc::new(Recording::begin(1, false));
    let mount = Mount::new(vec![Arc::clone(&peer)], top, tell, recording);
    let inode = Inode::root(1, 0);
    let file = OpenFile::new(Arc::clone(&inode), 1, 1, false);
    inode.flow().behind.put(&file, 0, b"x", false);
    let (tell, told) = channel();
    let settled = move || {
        let _ = tell.send(());
    };
    mount.settle(&inode, Box::new(settled));
    inode.flow().behind.put(&file, 4096, b"y", false);
    mount.send(&inode);
    let write = agent[0].receive().expect("the first write");
    assert!(told.try_recv().is_err(), "the node has not answered");
    agent[0].answer(write.number, Ok(Answer::Done), b"");
    assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok(()));
    assert!(!inode.flow().is_settled());
    peer.lose();
}
