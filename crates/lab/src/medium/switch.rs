//! The switch: a learning bridge in a namespace of its own, one veth pair a node.

use crate::address::{PREFIX, address, ethernet, name};
use crate::plan::{Place, Step, port};
use crate::shaping;

pub(super) fn steps(nodes: u32, rate: Option<u64>) -> Vec<Step> {
    let numbers = || 0..=nodes;
    let mut steps = bridge();
    steps.extend(numbers().map(|number| Step::Namespace { node: name(number) }));
    steps.extend(numbers().flat_map(attach));
    steps.extend(rate.into_iter().flat_map(|rate| {
        let shape = shaping::qdisc(rate, shaping::is_exact(rate, nodes));
        numbers().map(move |number| Step::Tc {
            place: Place::Switch,
            line: format!("qdisc add dev {} root {shape}", port(number)),
        })
    }));
    let exact = rate.is_some_and(|rate| shaping::is_exact(rate, nodes));
    steps.extend(numbers().flat_map(|number| node(number, rate, exact)));
    steps
}

/// Neither spanning tree nor multicast snooping: ports forward at once and nothing is sent that no
/// node asked for. Bridged frames pass no firewall, whatever the host's default is.
fn bridge() -> Vec<Step> {
    let switch = |line: &str| Step::Ip { place: Place::Switch, line: line.to_owned() };
    let setting = |key: &str, value: &str| Step::Sysctl {
        place: Place::Switch,
        key: key.to_owned(),
        value: value.to_owned(),
    };
    vec![
        setting("net.ipv6.conf.default.disable_ipv6", "1"),
        setting("net.bridge.bridge-nf-call-iptables", "0"),
        setting("net.bridge.bridge-nf-call-ip6tables", "0"),
        setting("net.bridge.bridge-nf-call-arptables", "0"),
        switch("link set lo up"),
        switch(
            "link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0 \
             nf_call_iptables 0 nf_call_ip6tables 0 nf_call_arptables 0",
        ),
        switch("link set br0 up"),
    ]
}

fn attach(number: u32) -> [Step; 2] {
    let port = port(number);
    let switch = |line: String| Step::Ip { place: Place::Switch, line };
    [
        switch(format!(
            "link add {port} type veth peer name eth0 address {} netns {}",
            ethernet(number),
            name(number)
        )),
        switch(format!("link set {port} master br0 up")),
    ]
}

fn node(number: u32, rate: Option<u64>, exact: bool) -> Vec<Step> {
    let place = Place::Node(name(number));
    let ip = |line: String| Step::Ip { place: place.clone(), line };
    let sysctl = |key: &str, value: &str| Step::Sysctl {
        place: place.clone(),
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let mut steps = vec![
        sysctl("net.ipv6.conf.all.disable_ipv6", "1"),
        sysctl("net.ipv4.ip_forward", "0"),
        sysctl("net.ipv4.tcp_rmem", "4096 131072 33554432"),
        sysctl("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ip("link set lo up".to_owned()),
        ip(format!("addr add {}/{PREFIX} dev eth0", address(number))),
        ip("link set eth0 up".to_owned()),
    ];
    steps.extend(rate.into_iter().flat_map(|rate| {
        [
            sysctl("net.ipv4.tcp_limit_output_bytes", &shaping::socket_share(rate).to_string()),
            Step::Tc {
                place: place.clone(),
                line: format!("qdisc add dev eth0 root {}", shaping::qdisc(rate, exact)),
            },
        ]
    }));
    steps
}
