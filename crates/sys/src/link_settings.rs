//! Reads the negotiated speed and duplex, the offloads and the MTU of a network interface by
//! ioctl(2), in the network namespace of the calling process.

use std::io;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

/// The speed and duplex that an interface has negotiated with its link partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// The speed in bits per second; `None` if unknown.
    pub speed: Option<u64>,
    /// Whether the link is full duplex; `None` if unknown.
    pub full_duplex: Option<bool>,
}

/// `struct ethtool_cmd` of linux/ethtool.h.
#[repr(C)]
#[derive(Default)]
struct EthtoolCmd {
    cmd: u32,
    supported: u32,
    advertising: u32,
    speed: u16,
    duplex: u8,
    port: u8,
    phy_address: u8,
    transceiver: u8,
    autoneg: u8,
    mdio_support: u8,
    maxtxpkt: u32,
    maxrxpkt: u32,
    speed_hi: u16,
    eth_tp_mdix: u8,
    eth_tp_mdix_ctrl: u8,
    lp_advertising: u32,
    reserved: [u32; 2],
}

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    cmd: u32,
    data: u32,
}

const ETHTOOL_GSET: u32 = 1;
const SIOCETHTOOL: libc::c_ulong = 0x8946;
const DUPLEX_HALF: u8 = 0;
const DUPLEX_FULL: u8 = 1;

/// Returns the negotiated speed and duplex of an interface; both are `None` if its driver does not
/// report them.
///
/// # Errors
/// When no socket can be created, or there is no such interface.
pub fn agreed(interface: &str) -> io::Result<Agreed> {
    let mut command = EthtoolCmd { cmd: ETHTOOL_GSET, ..EthtoolCmd::default() };
    let mut request = new_request(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut command).cast();
    match ioctl(SIOCETHTOOL, &mut request) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            return Ok(Agreed::default());
        }
        Err(error) => return Err(error),
    }
    let megabits = u32::from(command.speed_hi) << 16 | u32::from(command.speed);
    // All bits set means unknown: 32 bits, or 16 with old drivers.
    let known = megabits != 0 && megabits != u32::MAX && megabits != u32::from(u16::MAX);
    Ok(Agreed {
        speed: known.then(|| u64::from(megabits) * 1_000_000),
        full_duplex: match command.duplex {
            DUPLEX_HALF => Some(false),
            DUPLEX_FULL => Some(true),
            _ => None,
        },
    })
}

/// Returns the offloads of an interface: for each, its name in ethtool(8) and whether it is on.
/// These are segmentation of sent data (`tso`, and `gso` just above the driver), merging of
/// received packets (`gro`), and checksums (`tx`, `rx`). Offloads that the driver does not report
/// are left out.
///
/// # Errors
/// When no socket can be created.
pub fn offloads(interface: &str) -> io::Result<Vec<(&'static str, bool)>> {
    const ASKED: [(&str, u32); 5] =
        [("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b), ("tx", 0x16), ("rx", 0x14)];
    let mut all = Vec::new();
    for (name, cmd) in ASKED {
        let mut value = EthtoolValue { cmd, data: 0 };
        let mut request = new_request(interface)?;
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        if ioctl(SIOCETHTOOL, &mut request).is_ok() {
            all.push((name, value.data != 0));
        }
    }
    Ok(all)
}

/// Returns the MTU of an interface in bytes.
///
/// # Errors
/// When no socket can be created, or there is no such interface.
pub fn mtu(interface: &str) -> io::Result<u32> {
    let mut request = new_request(interface)?;
    ioctl(libc::SIOCGIFMTU, &mut request)?;
    // SAFETY: SIOCGIFMTU has filled this member, an integer, for which all bit patterns are valid.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(mtu).map_err(io::Error::other)
}

fn new_request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: `ifreq` consists of plain bytes, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The name must leave room for the final zero byte.
    if interface.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (into, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *into = byte as libc::c_char;
    }
    Ok(request)
}

fn ioctl(number: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    // SAFETY: the socket is open, `request` is a whole `ifreq`, and what it points to, if anything,
    // is the whole struct that its command fills, which lives in the caller.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), number as _, &raw mut *request) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_an_mtu_and_has_agreed_on_nothing() {
        assert!(mtu("lo").unwrap() >= 1500);
        assert_eq!(agreed("lo").unwrap(), Agreed::default());
        let features = offloads("lo").unwrap();
        assert!(features.iter().any(|(name, _)| *name == "gso"), "{features:?}");
        assert_eq!(offloads("none-such").unwrap(), []);
        assert!(mtu("none-such").is_err());
        assert!(mtu("a-name-that-is-too-long").is_err());
    }
}
