use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use garland_protocol::Role;
use garland_protocol::wire::fingerprint;

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
fn a_flood_of_strangers_is_counted_and_not_told_one_by_one() {
    let mut refusals = Refusals::default();
    let told = |refusals: &mut Refusals, now: Duration| {
        (0..1000).filter_map(|_| refusals.take(now.as_nanos() as u64)).collect::<Vec<u64>>()
    };
    let start = Duration::from_secs(1000);
    assert_eq!(told(&mut refusals, start), [0; 20]);
    assert_eq!(told(&mut refusals, start + PAUSE / 2), [0_u64; 0]);
    assert_eq!(told(&mut refusals, start + PAUSE * 2), [1980, 0]);
    assert_eq!(told(&mut refusals, start + PAUSE * 100).first(), Some(&998));
}
