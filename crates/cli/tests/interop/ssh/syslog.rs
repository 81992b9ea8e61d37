//! What a node's log has of sessions and what they do.

use std::fs;

use garland_testkit::{Sshd, said};

use crate::ssh::light::run;
use crate::ssh::{field_of, read, wait_for};

/// Gives a node a /dev of its own, and a receiver that writes what comes to /dev/log into a file.
fn receive(field: &Sshd, node: u8) {
    let own = "mkdir -p /tmp/dev; mount -t tmpfs none /tmp/dev; cd /tmp/dev; \
               mkdir pts shm; mount --bind /dev/pts pts; mount --bind /dev/shm shm; \
               for f in null zero full random urandom tty ptmx fuse; do \
                 [ ! -e /dev/$f ] || { touch $f; mount --bind /dev/$f $f; }; done; \
               ln -s /proc/self/fd fd; cd /; mount --move /tmp/dev /dev";
    field.machines.shell(node, own).expect("a /dev of its own");
    let receiver = "import socket, sys\n\
                    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n\
                    log.bind('/dev/log')\n\
                    print('receives', file=sys.stderr, flush=True)\n\
                    with open('/mnt/home/syslog', 'ab', buffering=0) as file:\n\
                    \x20   while True: file.write(log.recv(4096) + b'\\n')\n";
    field.machines.daemon(node, &["python3", "-c", receiver], "receives").expect("a receiver");
}

fn lines(field: &Sshd, node: u8) -> Vec<String> {
    let text = read(field, node, "/mnt/home/syslog").unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Waits for a line with all of `signs`, and returns it.
fn line_with(field: &Sshd, signs: &[&str]) -> String {
    let found = || {
        let logged = lines(field, 1);
        logged.into_iter().find(|line| signs.iter().all(|sign| line.contains(sign)))
    };
    wait_for(|| found().is_some());
    found().expect("it was there")
}

#[test]
fn the_log_of_a_node_has_sessions_commands_copies_farms_and_strangers() {
    let field = field_of(1);
    receive(&field, 1);
    let ends = |arguments: &[&str]| {
        let output = run(&field, arguments);
        assert!(output.status.success(), "{}", said(&output));
    };
    ends(&["up", "n1", "--port", "4100"]);
    let session = line_with(&field, &["<38>garland[", "]: session peer=10.99.0.254:"]);
    assert!(session.contains(" role=controller"), "{session}");
    let key = session.split("key=").nth(1).and_then(|rest| rest.split(' ').next()).expect("a key");
    assert!(key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()), "{session}");

    ends(&["exec", "n1", "--", "echo", "--password=secret"]);
    let exec = line_with(&field, &["<30>garland[", "exec peer=10.99.0.254:", "program=\"echo\""]);
    assert!(exec.ends_with(" arguments=1"), "{exec}");

    ends(&["cp", "/mnt/head/source", "n1:/mnt/home/a b"]);
    let copy = line_with(&field, &["copy peer=", "direction=in"]);
    assert!(copy.contains("path=\"/mnt/home/a b\" bytes=3000001 verdict=\"committed\""), "{copy}");
    ends(&["cp", "n1:/mnt/home/a b", "/mnt/head/back"]);
    let copy = line_with(&field, &["copy peer=", "direction=out"]);
    assert!(copy.contains("path=\"/mnt/home/a b\" bytes=3000001"), "{copy}");

    let jobs = field.machines.seen(0, "/mnt/head/jobs.txt");
    fs::write(jobs, "true\ntrue\ntrue\n").expect("written");
    ends(&["farm", "run", "/mnt/head/jobs.txt", "n1"]);
    line_with(&field, &["farm peer=", " role=controller jobs=3"]);

    // A stranger from the node itself, with bytes that would forge a line.
    let knock = "import socket\n\
                 s = socket.create_connection(('10.99.0.1', 4100))\n\
                 s.sendall(b'GET / HTTP/1.0\\n<38>su: root\\n\\n' * 9)\n\
                 s.settimeout(30)\n\
                 try: s.recv(1)\n\
                 except OSError: pass\n";
    let knocked = field.machines.command(1, "python3").args(["-c", knock]).output();
    assert!(knocked.expect("it runs").status.success());
    let refused = line_with(&field, &["<36>garland[", "refused peer=10.99.0.1:", "reason=\""]);
    assert!(refused.ends_with('"'), "{refused}");
    let all = lines(&field, 1);
    assert!(all.iter().all(|line| line.starts_with('<') && !line.contains("secret")), "{all:#?}");
    ends(&["down"]);
}
