//! Installing on a machine: it stays when confirmed, and is undone otherwise.

use std::process::Stdio;

use garland_testkit::{Scratch, until};

use crate::net::daemons;
use crate::net::shape::Shape;
use crate::net::stage::Stage;
use crate::net::truth::Truth;

/// A server whose NICs were set up by hand.
fn server(scratch: &Scratch) -> Stage<'_> {
    let stage = Stage::new(scratch, &["lan0", "lan1"]);
    stage.shell(
        "echo 0 >/proc/sys/net/ipv4/ip_forward; ip link set lan0 mtu 1400 up; \
         ip address add 10.1.0.1/24 dev lan0; ip route add 10.2.0.0/16 via 10.1.0.9 dev lan0",
    );
    stage
}

/// The words that install the head of a forwarded star.
fn words<'a>(topology: &'a str, format: &'a str, patience: &'a str) -> Vec<&'a str> {
    vec![
        "net",
        "config",
        topology,
        "--node",
        "n0",
        "--format",
        format,
        "--map",
        "eth0=lan0",
        "--map",
        "eth1=lan1",
        "--install",
        "--confirm-within",
        patience,
    ]
}

/// All that an installation may change.
fn all(stage: &Stage<'_>) -> String {
    stage.shell(
        "ip -4 -o address show | sed 's/valid_lft.*//'; ip -4 route show | sort; cat /sys/class/net/lan0/mtu; \
         cat /sys/class/net/lan1/operstate /proc/sys/net/ipv4/ip_forward; cat /etc/hosts; \
         find /etc/network /etc/garland /etc/sysctl.d -type f 2>/dev/null | sort",
    )
}

/// With `peers`, a wire's address has its other end.
fn planned(peers: bool) -> Truth {
    let mut truth = Truth::planned(&Shape::forwarded().topology, 0, peers);
    let renamed = |line: &String| line.replace("eth", "lan");
    truth.addresses = truth.addresses.iter().map(renamed).collect();
    truth.routes = truth.routes.iter().map(renamed).collect();
    truth
}

#[test]
fn what_is_confirmed_stays() {
    for format in ["ifupdown", "iproute2"] {
        let scratch = Scratch::new("net-confirm");
        let topology = Shape::forwarded().file(&scratch);
        let stage = server(&scratch);
        let install = stage
            .garland(&words(&topology, format, "60s"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        until("the installation to be pending", || {
            stage.run_any(&["net", "confirm"]).contains("confirmed: the new configuration stays")
        });
        let output = install.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", garland_testkit::said(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.ends_with("confirmed\n"), "{said}");
        assert_eq!(Truth::found(&stage), planned(true), "{format}");
        scratch.assert_nobody_left();
        assert_eq!(Truth::found(&stage), planned(true), "{format}");
    }
}

#[test]
fn what_is_not_confirmed_is_undone() {
    for format in ["ifupdown", "iproute2"] {
        let scratch = Scratch::new("net-undone");
        let topology = Shape::forwarded().file(&scratch);
        let stage = server(&scratch);
        let before = all(&stage);
        let said = stage.run(&words(&topology, format, "2s"), 3);
        assert!(said.contains("installed; keep it"), "{said}");
        assert!(said.contains("undone: not confirmed within 2 s\n"), "{said}");
        assert_eq!(all(&stage), before, "{format}");
        scratch.assert_nobody_left();
        let said = stage.run(&["net", "confirm"], 3);
        assert!(said.contains("no installation is waiting for a confirmation"), "{said}");
    }
}

/// The login that a new configuration cuts off takes its processes with it: all of its session.
#[test]
fn the_undoing_outlives_the_login() {
    let scratch = Scratch::new("net-hangup");
    let topology = Shape::forwarded().file(&scratch);
    let stage = server(&scratch);
    let before = all(&stage);
    let mut login = stage.command("setsid");
    login.args(["--wait", env!("CARGO_BIN_EXE_garland")]).args(words(&topology, "ifupdown", "3s"));
    let mut login = login.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until("the installation to be there", || Truth::found(&stage) == planned(true));
    // nsenter became setsid, and that the installer: the leader of a session and a group of its own.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", login.id())).expect("it runs");
    let group = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(2));
    assert_eq!(group, Some(login.id().to_string().as_str()), "it leads its group");
    garland_sys::process::kill_group(login.id());
    login.wait().expect("it ends");
    assert_eq!(Truth::found(&stage), planned(true));
    until("the undoing", || all(&stage) == before);
    scratch.assert_nobody_left();
}

#[test]
fn what_the_tool_refuses_is_undone_at_once() {
    let scratch = Scratch::new("net-broken");
    let topology = Shape::forwarded().file(&scratch);
    let stage = server(&scratch);
    // Somebody else's stanza for the same NIC, which ifup takes together with ours.
    stage.shell("echo 'iface lan1 inet manual\n up false' >/etc/network/interfaces.d/other");
    let before = all(&stage);
    let said = stage.run(&words(&topology, "ifupdown", "60s"), 3);
    assert!(said.contains("undone: `ifup"), "{said}");
    assert_eq!(all(&stage), before);
    scratch.assert_nobody_left();
}

#[test]
fn an_installation_that_cannot_be_changes_nothing() {
    let scratch = Scratch::new("net-cannot");
    let topology = Shape::forwarded().file(&scratch);
    let stage = server(&scratch);
    let before = all(&stage);
    let said = stage
        .run(&["net", "config", &topology, "--node", "n0", "--format", "ifupdown", "--install"], 2);
    assert!(said.contains("this machine has no device eth0; n0 needs it"), "{said}");
    assert!(said.contains("hint: map it by --map eth0=NAME; the devices are lan0, "), "{said}");
    for wrong in ["1s", "2h", "soon", "-5s"] {
        let patience = format!("--confirm-within={wrong}");
        let said =
            stage.run(&[&words(&topology, "ifupdown", "60s")[..12], &[&patience]].concat(), 2);
        assert!(said.contains("give a time from 2s to 1h"), "{said}");
    }
    assert_eq!(all(&stage), before);
}

#[test]
fn two_installations_at_once_are_refused() {
    let scratch = Scratch::new("net-two");
    let topology = Shape::forwarded().file(&scratch);
    let stage = server(&scratch);
    let mut first = stage.garland(&words(&topology, "iproute2", "60s"));
    let mut first = first.stdout(Stdio::null()).spawn().expect("it starts");
    until("the installation to be there", || Truth::found(&stage) == planned(true));
    let said = stage.run(&words(&topology, "ifupdown", "60s"), 2);
    assert!(said.contains("another installation is waiting for its confirmation"), "{said}");
    until("a confirmation", || stage.run_any(&["net", "confirm"]).contains("stays"));
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    scratch.assert_nobody_left();
}

/// What daemons put back is what their own files said before.
#[test]
fn daemons_are_told_of_new_files_and_of_old_ones() {
    const OWN: [(&str, &str, &str); 2] = [
        (
            "networkd",
            "/etc/systemd/network/50-lan.network",
            "[Match]\nName=lan0\n\n[Network]\nAddress=10.1.0.1/24\n",
        ),
        (
            "networkmanager",
            "/etc/NetworkManager/system-connections/lan.nmconnection",
            "[connection]\nid=lan\ntype=ethernet\ninterface-name=lan0\n\n\
             [ipv4]\nmethod=manual\naddress1=10.1.0.1/24\n\n[ipv6]\nmethod=disabled\n",
        ),
    ];
    for (format, path, text) in OWN {
        let scratch = Scratch::new("net-daemons");
        let topology = Shape::forwarded().file(&scratch);
        let stage = Stage::new(&scratch, &["lan0", "lan1"]);
        stage.shell(&format!("mkdir -p $(dirname {path}); umask 077; : >{path}"));
        std::fs::write(stage.seen(path), text).expect("it can be written");
        if format == "networkd" {
            stage.shell(&format!("chmod 644 {path}; chmod 755 $(dirname {path})"));
        }
        let daemons = match format {
            "networkd" => daemons::networkd(&stage),
            _ => daemons::network_manager(&stage),
        };
        let own = || stage.shell("ip -4 -o address show dev lan0").contains(" 10.1.0.1/24 ");
        until("the daemon's own address", own);
        let mut install = stage.garland(&words(&topology, format, "4s"));
        let install = install.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let peers = format == "networkd";
        until("what is planned", || Truth::found(&stage) == planned(peers));
        let output = install.expect("it starts").wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(3), "{}", garland_testkit::said(&output));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(complaint, "error: undone: not confirmed within 4 s\n", "{format}");
        until("the daemon's own address again", own);
        let planned = Truth::found(&stage).addresses;
        assert!(!planned.iter().any(|address| address.contains("10.88.")), "{planned:?}");
        assert!(!stage.seen(path).with_file_name("10-garland-lan0.network").exists());
        drop(daemons);
        scratch.assert_nobody_left();
    }
}
