use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

use garland_protocol::Role;
use garland_protocol::wire::fingerprint;

use super::allowance::{MAX_BURST, PAUSE};
use super::*;

/// A receiver of lines; its socket is removed at the end.
struct Receiver {
    path: PathBuf,
    socket: UnixDatagram,
}

impl Receiver {
    fn open(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("garland-{name}-{}", std::process::id()));
        let socket = UnixDatagram::bind(&path).expect("a new socket");
        socket.set_nonblocking(true).expect("a socket");
        Self { path, socket }
    }

    fn lines(&self) -> Vec<String> {
        let mut buffer = [0; 2048];
        let mut lines = Vec::new();
        while let Ok(length) = self.socket.recv(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            lines.push(text.split_once("]: ").expect("a program's name").1.to_owned());
        }
        lines
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn caller() -> Caller {
    let peer = "[::ffff:10.0.0.9]:5000".parse().expect("an address");
    Caller { peer, key: [7; 32], role: Role::Controller }
}

#[test]
fn lines_say_who_did_what() {
    let receiver = Receiver::open("lines");
    let audit = Audit::new(Some(Syslog::at(&receiver.path)));
    audit.session(&caller());
    audit.exec(&Caller { role: Role::Member, ..caller() }, b"/bin/sh", 2);
    audit.copy(&caller(), Direction::In, b"/data/a b", 3_000_001, "committed");
    audit.farm(&caller(), 12);
    let key = fingerprint(&[7; 32]);
    assert_eq!(key.len(), 16);
    let by = |role: &str| format!("peer=10.0.0.9:5000 key={key} role={role}");
    let by_controller = by("controller");
    assert_eq!(
        receiver.lines(),
        [
            format!("session {by_controller}"),
            format!("exec {} program=\"/bin/sh\" arguments=2", by("member")),
            format!(
                "copy {by_controller} direction=in path=\"/data/a b\" bytes=3000001 \
                 verdict=\"committed\""
            ),
            format!("farm {by_controller} jobs=12"),
        ]
    );
}

#[test]
fn lines_that_nobody_took_are_counted_and_told() {
    let path = std::env::temp_dir().join(format!("garland-lost-{}", std::process::id()));
    let audit = Audit::new(Some(Syslog::at(&path)));
    audit.farm(&caller(), 1);
    audit.farm(&caller(), 2);
    let receiver = Receiver::open("lost");
    audit.farm(&caller(), 3);
    audit.farm(&caller(), 4);
    let lines = receiver.lines();
    assert_eq!(lines[0], "lost lines=2");
    assert!(lines[1].ends_with("jobs=3") && lines[2].ends_with("jobs=4"), "{lines:?}");
}

#[test]
fn a_member_that_comes_again_and_again_is_told_seldom_and_hides_nobody() {
    let receiver = Receiver::open("flood");
    let audit = Audit::new(Some(Syslog::at(&receiver.path)));
    let member = |number| Caller { role: Role::Member, key: [number; 32], ..caller() };
    // Read after each one: the queue of a socket may be short.
    let tell = |caller: Caller| {
        audit.session(&caller);
        receiver.lines()
    };
    let mut told: Vec<String> = (0..1000).flat_map(|_| tell(member(1))).collect();
    told.extend(tell(member(2)));
    // One more if the processor was away for three seconds.
    assert!((MAX_BURST as usize + 1..MAX_BURST as usize + 20).contains(&told.len()), "{told:?}");
    assert!(told.last().expect("a line").contains(&fingerprint(&[2; 32])), "{told:?}");
    let of_controller = (0..2 * MAX_BURST).flat_map(|_| tell(caller())).count();
    assert_eq!(of_controller, 2 * MAX_BURST as usize, "controllers are always told");
}

#[test]
fn who_has_not_come_for_a_minute_takes_no_memory() {
    let mut state = State::default();
    let comes = |state: &mut State, number, now: Duration| {
        let member = Caller { role: Role::Member, key: [number; 32], ..caller() };
        state.admit(&member, now.as_nanos() as u64)
    };
    let start = Duration::from_secs(1000);
    for number in 0..100 {
        assert_eq!(comes(&mut state, number, start), Some(0));
    }
    assert_eq!(comes(&mut state, 200, start + PAUSE * 2), Some(0));
    assert_eq!(state.sessions.len(), 1);
}
