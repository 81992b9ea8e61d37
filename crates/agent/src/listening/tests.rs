use super::*;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn ports(text: &str) -> Ports {
    text.parse().expect("ports")
}

fn open(addresses: &[IpAddr], ports: Ports) -> Result<OpenPort, String> {
    open_at(addresses, ports, Transport::Tcp).map_err(|error| error.to_string())
}

#[test]
fn all_addresses_have_the_same_port() {
    let second = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let port = open(&[LOOPBACK, second], Ports::ANY).expect("a free port");
    let own: Vec<SocketAddr> =
        port.listeners.iter().map(|listener| listener.local_addr().expect("bound")).collect();
    assert_eq!(own, [(LOOPBACK, port.number), (second, port.number)].map(SocketAddr::from));
}

#[test]
fn the_first_free_port_of_a_range_is_taken_and_an_error_names_who_has_all() {
    let first = open(&[LOOPBACK], Ports::ANY).expect("a free port");
    // The ports behind it may belong to others: the range is as long as it must be.
    let range = Ports::from_bounds(first.number, first.number.saturating_add(50)).expect("a range");
    let second = open(&[LOOPBACK], range).expect("one of fifty is free");
    assert!(range.numbers().contains(&second.number) && second.number != first.number);
    let one = ports(&first.number.to_string());
    let error = open(&[LOOPBACK], one).map(|open| open.number).expect_err("it is taken");
    let number = first.number;
    let pid = std::process::id();
    assert!(error.contains(&format!("port {number} is taken: {number} by ")), "{error}");
    assert!(error.contains(&format!("(process {pid})")), "{error}");
    assert!(error.contains("--port LOW-HIGH"), "{error}");
}

#[test]
fn only_own_addresses_are_kept_of_those_by_which_a_node_is_reached() {
    let foreign: IpAddr = "192.0.2.7".parse().expect("an address");
    let own = own_of(&[foreign, LOOPBACK, LOOPBACK], Transport::Tcp).expect("one is own");
    assert_eq!(own, [LOOPBACK]);
    assert!(own_of(&[foreign], Transport::Tcp).expect("none can be bound").is_empty());
}

#[test]
fn nics_stand_for_their_addresses_and_errors_name_them() {
    let of = |text: &str| named(&[text.parse().expect("a NIC")]).map_err(|error| error.to_string());
    assert_eq!(of("lo").expect("every host has it").first(), Some(&LOOPBACK));
    let error = of("nosuch0").expect_err("there is none");
    assert_eq!(
        error,
        "cannot listen at nosuch0: there is no such NIC; `ip addr` shows the node's NICs"
    );
    let all = named(&[ListenAt::LOOPBACK, ListenAt::ALL]).expect("addresses");
    assert_eq!(all, [IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED)]);
}
