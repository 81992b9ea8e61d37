//! The daemons behind the formats, as a machine has them: on a bus of its own, without udev.

use crate::net::stage::{Daemon, Stage};

const NETWORKD: &str = "/lib/systemd/systemd-networkd";

/// A bus that starts nothing by itself and lets everybody speak.
const BUS: &str = r#"<busconfig><type>system</type><auth>EXTERNAL</auth>
<listen>unix:path=/run/dbus/system_bus_socket</listen><policy context="default">
<allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
</policy></busconfig>"#;

/// systemd-networkd, ready, and the bus that it is asked over. The last one ends first.
pub fn networkd(stage: &Stage<'_>) -> [Daemon; 2] {
    let bus = start_bus(stage);
    stage.shell(
        "cd /run/systemd; mkdir -p netif/links netif/leases netif/lldp; \
         chown -R systemd-network: netif",
    );
    [stage.daemon(&[NETWORKD], "networkctl list"), bus]
}

/// NetworkManager, ready, and its bus. It makes no connections that nobody asked for.
pub fn network_manager(stage: &Stage<'_>) -> [Daemon; 2] {
    let bus = start_bus(stage);
    stage.shell("printf '[main]\\nno-auto-default=*\\n' >/etc/NetworkManager/conf.d/test.conf");
    [stage.daemon(&["/usr/sbin/NetworkManager", "--no-daemon"], "nmcli -t general"), bus]
}

fn start_bus(stage: &Stage<'_>) -> Daemon {
    let file = stage.seen("/run/bus.conf");
    std::fs::write(file, BUS).expect("it can be written");
    let words = ["/usr/bin/dbus-daemon", "--config-file=/run/bus.conf", "--nofork", "--nopidfile"];
    stage.daemon(&words, "test -S /run/dbus/system_bus_socket")
}
