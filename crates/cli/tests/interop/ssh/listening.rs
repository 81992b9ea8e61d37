//! Where agents listen: only where they are reached, or where the user says.

use std::fs;

use garland_testkit::{Sshd, said};

use crate::ssh::light::run;
use crate::ssh::{assert_whole, field_of};

/// The addresses and ports at which garland listens on a node, sorted.
fn doors(field: &Sshd, node: u8) -> Vec<String> {
    let output = field.machines.command(node, "ss").args(["-Hltnp"]).output().expect("ss runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.contains("\"garland\""));
    let mut doors: Vec<String> =
        lines.filter_map(|line| line.split_whitespace().nth(3)).map(str::to_owned).collect();
    doors.sort();
    doors
}

/// The addresses of `doors`, which have one port.
fn addresses(doors: &[String]) -> Vec<String> {
    let split = |door: &String| {
        let (address, port) = door.rsplit_once(':').expect("an address and a port");
        (address.to_owned(), port.to_owned())
    };
    let (addresses, mut ports): (Vec<_>, Vec<_>) = doors.iter().map(split).unzip();
    ports.dedup();
    assert_eq!(ports.len(), 1, "{doors:?}");
    addresses
}

/// A field whose machines have two further networks, 10.97.0.0/24 and 10.98.0.0/24.
fn field_with_rails(nodes: u8) -> Sshd {
    let field = field_of(nodes);
    for rail in [97, 98] {
        let add = |host: u8, nic: &str| format!("ip addr add 10.{rail}.0.{host}/24 dev {nic}");
        field.machines.shell(0, &add(254, "br0")).expect("an address");
        for node in 1..=nodes {
            field.machines.shell(node, &add(node, "eth0")).expect("an address");
        }
    }
    field
}

/// Adds lines to the cluster file.
fn describe(field: &Sshd, nodes: &str) {
    let path = field.machines.seen(0, "/mnt/head/cluster.toml");
    let text = fs::read_to_string(&path).expect("it was written");
    let (before, after) = text.split_once("nodes = ").expect("it has nodes");
    let (_, after) = after.split_once('\n').expect("it has another line");
    fs::write(path, format!("{before}{nodes}\n{after}")).expect("written");
}

#[test]
fn an_agent_listens_where_ssh_reached_its_node_and_nowhere_else() {
    let field = field_with_rails(2);
    let up = run(&field, &["up", "n[1-2]"]);
    assert!(up.status.success(), "{}", said(&up));
    for node in 1..=2 {
        assert_eq!(addresses(&doors(&field, node)), [format!("10.99.0.{node}")]);
    }
    let copy = run(&field, &["cp", "/mnt/head/source", "n[1-2]:/mnt/home/copy"]);
    assert!(copy.status.success(), "{}", said(&copy));
    assert_whole(&field, 2, "/mnt/home/copy");
    let down = run(&field, &["down"]);
    assert!(down.status.success(), "{}", said(&down));
}

#[test]
fn the_rails_of_the_cluster_file_are_open_too_and_a_copy_goes_over_them() {
    let field = field_with_rails(2);
    describe(
        &field,
        "[[nodes]]\nnames = \"n[1-2]\"\nrails = [\"10.97.0.[1-2]\", \"10.98.0.[1-2]\"]",
    );
    let up = run(&field, &["up", "n[1-2]"]);
    assert!(up.status.success(), "{}", said(&up));
    for node in 1..=2 {
        let all = [97, 98, 99].map(|net| format!("10.{net}.0.{node}"));
        assert_eq!(addresses(&doors(&field, node)), all);
    }
    let copy = run(&field, &["cp", "/mnt/head/source", "n[1-2]:/mnt/home/copy"]);
    assert!(copy.status.success(), "{}", said(&copy));
    assert_whole(&field, 2, "/mnt/home/copy");
    let down = run(&field, &["down"]);
    assert!(down.status.success(), "{}", said(&down));
}

#[test]
fn an_agent_listens_at_the_address_and_port_that_the_user_names() {
    let field = field_with_rails(1);
    let up = run(&field, &["up", "n1", "--listen", "10.98.0.1", "--port", "4100-4199"]);
    assert!(up.status.success(), "{}", said(&up));
    assert_eq!(doors(&field, 1), ["10.98.0.1:4100"]);
    // The head goes there, although the node's name leads elsewhere.
    let copy = run(&field, &["cp", "/mnt/head/source", "n1:/mnt/home/copy"]);
    assert!(copy.status.success(), "{}", said(&copy));
    assert_whole(&field, 1, "/mnt/home/copy");
    let down = run(&field, &["down"]);
    assert!(down.status.success(), "{}", said(&down));

    // A NIC stands for all its addresses; the cluster file says it for all commands.
    describe(&field, "nodes = \"n1\"\n[agents]\nlisten = \"eth0\"\nport = \"4100-4199\"");
    let up = run(&field, &["up", "n1"]);
    assert!(up.status.success(), "{}", said(&up));
    let all = [97, 98, 99].map(|net| format!("10.{net}.0.1:4100"));
    assert_eq!(doors(&field, 1), all);
}

#[test]
fn an_agent_that_cannot_listen_as_asked_says_why_and_who_has_the_ports() {
    let field = field_with_rails(1);
    let hold = "import socket, sys, time\n\
                held = [socket.create_server(('10.99.0.1', port)) for port in (4100, 4101)]\n\
                print('held', file=sys.stderr, flush=True)\n\
                time.sleep(600)\n";
    field.machines.daemon(1, &["python3", "-c", hold], "held").expect("two ports are held");
    let refused = |arguments: &[&str]| {
        let output = run(&field, &[&["exec", "n1"], arguments, &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        said(&output)
    };
    let taken = refused(&["--port", "4100-4101"]);
    assert!(
        taken.contains("all ports of 4100-4101 are taken: 4100 by python3 (process "),
        "{taken}"
    );
    let one = refused(&["--port", "4100"]);
    assert!(one.contains("port 4100 is taken: 4100 by python3"), "{one}");
    let nic = refused(&["--listen", "ib7"]);
    assert!(nic.contains("cannot listen at ib7: there is no such NIC"), "{nic}");
    let foreign = refused(&["--listen", "192.0.2.1"]);
    assert!(foreign.contains("cannot listen at 192.0.2.1:0: "), "{foreign}");
    let output = run(&field, &["exec", "n1", "--port", "4100-4102", "--", "true"]);
    assert!(output.status.success(), "{}", said(&output));
}
