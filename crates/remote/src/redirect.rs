//! Which redirects are followed. A server, or whoever chooses its address, would otherwise have
//! this machine ask servers that only it can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use http::header::{ACCEPT, IF_MATCH, IF_NONE_MATCH, LOCATION, RANGE};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderName, Method, Request, Response, StatusCode, Uri};
use thiserror::Error;
use ureq::config::Config;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use crate::names::Names;

/// The maximum number of redirects of a request.
pub const REDIRECTS_MAX: usize = 10;

/// The headers that the next server gets, too. Others may be credentials.
const PASSED_ON: [HeaderName; 4] = [ACCEPT, IF_MATCH, IF_NONE_MATCH, RANGE];

/// Who can reach an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressKind {
    /// Everyone.
    Public,
    /// Machines of the same site.
    Private,
    /// Machines of the same link, such as a cloud's service of credentials.
    LinkLocal,
    /// This machine.
    Loopback,
}

/// Resolves the names of servers for connections to addresses of one kind. The addresses of a proxy
/// may be of any kind.
#[derive(Clone, Debug)]
pub struct NamesOfKind {
    /// Resolves the names.
    pub names: Names,
    /// The kind of the addresses.
    pub kind: AddressKind,
}

/// A server has an address of another kind than it was to be asked at.
#[derive(Clone, Debug, Error)]
#[error("{host} has the address {ip}")]
pub struct OtherKind {
    host: String,
    ip: IpAddr,
}

impl OtherKind {
    /// Returns the kind of the server's address.
    pub fn kind(&self) -> AddressKind {
        AddressKind::from_ip(self.ip)
    }
}

impl Resolver for NamesOfKind {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = of_one_kind(&self.names.resolve(uri, config, timeout)?);
        match found.first().map(|address| address.ip()) {
            Some(ip) if AddressKind::from_ip(ip) != self.kind && !is_proxy(uri, config) => {
                let host = uri.host().unwrap_or_default().to_owned();
                Err(ureq::Error::Other(OtherKind { host, ip }.into()))
            }
            _ => Ok(found),
        }
    }
}

/// Checks whether a server at an address of the kind `from` may lead `to` another one. Everyone may
/// lead to public addresses, and inner servers to those of their own kind.
///
/// # Errors
/// If it may not. `None` is the user, who may name any address.
pub fn check(from: Option<AddressKind>, to: &OtherKind) -> Result<(), ureq::Error> {
    let kind = to.kind();
    match from {
        Some(from) if kind != AddressKind::Public && kind != from => {
            Err(refused(&format!("{}, which has the inner address {}", to.host, to.ip)))
        }
        _ => Ok(()),
    }
}

/// Returns those of the addresses that are of the same kind as the first one. A stranger whose name
/// leads to an inner address beside its own, which answers, would otherwise be an inner server.
fn of_one_kind(addresses: &ResolvedSocketAddrs) -> ResolvedSocketAddrs {
    let mut kept = ResolvedSocketAddrs::from_fn(|_| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
    let kind = addresses.first().map(|address| AddressKind::from_ip(address.ip()));
    for address in
        addresses.iter().filter(|address| kind == Some(AddressKind::from_ip(address.ip())))
    {
        kept.push(*address);
    }
    kept
}

/// Returns the request that a redirect leads to; `None` if the response is none, or one that the
/// library judges.
///
/// # Errors
/// When the redirect is not to be followed.
pub fn follow<B, T>(
    asked: &Request<B>,
    response: &Response<T>,
) -> Result<Option<Request<Vec<u8>>>, ureq::Error> {
    let is_redirect = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let is_read = matches!(*asked.method(), Method::GET | Method::HEAD);
    let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect && is_read) else {
        return Ok(None);
    };
    let to = location.to_str().ok().and_then(|location| joined(asked.uri(), location));
    let to = to.ok_or_else(|| refused("what is no address"))?;
    if to.scheme() != Some(&Scheme::HTTPS) && to.scheme() != asked.uri().scheme() {
        let scheme = to.scheme_str().unwrap_or_default();
        return Err(refused(&format!("{scheme} although it was asked by another scheme")));
    }
    let mut next = Request::builder().method(asked.method()).uri(to);
    for name in PASSED_ON {
        if let Some(value) = asked.headers().get(&name) {
            next = next.header(name, value);
        }
    }
    next.body(Vec::new()).map(Some).map_err(|_| refused("what is no address"))
}

/// Returns the address to which `location` leads from `from`.
fn joined(from: &Uri, location: &str) -> Option<Uri> {
    // Fragments are not sent.
    let location = location.split('#').next()?;
    if location.split(['/', '?']).next().is_some_and(|first| first.contains(':')) {
        return location.parse().ok();
    }
    if location.starts_with("//") {
        return format!("{}:{location}", from.scheme_str()?).parse().ok();
    }
    let path = from.path();
    let path = match location.chars().next() {
        Some('/') => location.to_owned(),
        Some('?') => format!("{path}{location}"),
        None => from.path_and_query()?.to_string(),
        _ => format!("{}{location}", &path[..=path.rfind('/')?]),
    };
    let mut parts = from.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

fn refused(to: &str) -> ureq::Error {
    ureq::Error::Other(format!("the server redirects to {to}, which is not followed").into())
}

/// Whether `uri` is that of the proxy which passes on the request.
fn is_proxy(uri: &Uri, config: &Config) -> bool {
    config.proxy().is_some_and(|proxy| {
        uri.host() == Some(proxy.host()) && uri.port_u16() == Some(proxy.port())
    })
}

impl AddressKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Public, Self::Private, Self::LinkLocal, Self::Loopback];

    /// Returns the kind of an address, in whatever notation it is.
    pub fn from_ip(ip: IpAddr) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(ip) => Self::from_v4(ip),
            IpAddr::V6(ip) => Self::from_v6(ip),
        }
    }

    fn from_v4(ip: Ipv4Addr) -> Self {
        match ip.octets() {
            // The kernel takes 0.0.0.0 for this machine.
            [0 | 127, ..] => Self::Loopback,
            [169, 254, ..] => Self::LinkLocal,
            // The second range is that of providers with shared addresses.
            [10, ..] | [100, 64..=127, ..] | [172, 16..=31, ..] | [192, 168, ..] => Self::Private,
            _ => Self::Public,
        }
    }

    fn from_v6(ip: Ipv6Addr) -> Self {
        let embedded = |high: u16, low: u16| {
            Self::from_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
        };
        match ip.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Self::Loopback,
            // Addresses of IPv4 in other notations: compatible ones, those of NAT64, and of 6to4.
            [0, 0, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                embedded(high, low)
            }
            [0x2002, high, low, ..] => embedded(high, low),
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            // Unique local addresses, and those that were site-local.
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Self::Private,
            _ => Self::Public,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(from: &str, location: &str) -> Result<Option<String>, String> {
        let asked = Request::get(from).header(RANGE, "bytes=0-1").header("authorization", "x");
        let asked = asked.body(()).expect("a request");
        let response = Response::builder().status(302).header(LOCATION, location).body(());
        let next = follow(&asked, &response.expect("a response"));
        next.map_err(|error| error.to_string()).map(|next| {
            next.map(|next| {
                assert_eq!(next.headers().len(), 1, "only the range goes on: {next:?}");
                next.uri().to_string()
            })
        })
    }

    #[test]
    fn a_redirect_leads_to_the_same_scheme_or_a_better_one() {
        for (from, location, wanted) in [
            ("http://h/a/b?c", "d", "http://h/a/d"),
            ("http://h/a/b?c", "/d?e#f", "http://h/d?e"),
            ("http://h/a/b?c", "?d", "http://h/a/b?d"),
            ("http://h/a", "//g:8/d", "http://g:8/d"),
            ("http://h/a", "https://h/a", "https://h/a"),
            ("https://h/a", "/x:y", "https://h/x:y"),
            ("https://h/a", "https://g/d", "https://g/d"),
        ] {
            assert_eq!(to(from, location), Ok(Some(wanted.to_owned())), "{from} {location}");
        }
        for (from, location) in [
            ("https://h/a", "http://h/a"),
            ("http://h/a", "ftp://h/a"),
            ("http://h/a", "file:///etc/passwd"),
            ("http://h/a", "http://"),
        ] {
            assert!(to(from, location).is_err(), "{from} {location}");
        }
    }

    #[test]
    fn only_reading_requests_are_redirected() {
        let response = Response::builder().status(307).header(LOCATION, "/x").body(());
        let asked = Request::put("http://h/a").body(()).expect("a request");
        let next = follow(&asked, &response.expect("a response"));
        assert!(next.is_ok_and(|next| next.is_none()));
    }

    #[test]
    fn of_the_addresses_of_a_name_those_of_one_kind_are_asked() {
        let kept = |text: &str| {
            let unused = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let mut found = ResolvedSocketAddrs::from_fn(|_| unused);
            for word in text.split(' ') {
                found.push(SocketAddr::new(word.parse().expect("an address"), 80));
            }
            let kept = of_one_kind(&found);
            kept.iter().map(|address| address.ip().to_string()).collect::<Vec<String>>().join(" ")
        };
        assert_eq!(kept("192.0.2.1 192.0.2.2 2001:db8::1"), "192.0.2.1 192.0.2.2 2001:db8::1");
        assert_eq!(kept("127.0.0.1 ::1"), "127.0.0.1 ::1");
        assert_eq!(kept("10.0.0.1 192.0.2.1 192.168.0.1"), "10.0.0.1 192.168.0.1");
        assert_eq!(kept("192.0.2.1 10.0.0.1"), "192.0.2.1");
    }

    #[test]
    fn inner_addresses_are_known_in_all_notations() {
        for (address, kind) in [
            ("127.0.0.1", AddressKind::Loopback),
            ("0.0.0.0", AddressKind::Loopback),
            ("::1", AddressKind::Loopback),
            ("::", AddressKind::Loopback),
            ("::ffff:127.8.8.8", AddressKind::Loopback),
            ("::127.0.0.1", AddressKind::Loopback),
            ("64:ff9b::7f00:1", AddressKind::Loopback),
            ("2002:7f00:1::", AddressKind::Loopback),
            ("169.254.169.254", AddressKind::LinkLocal),
            ("fe80::1", AddressKind::LinkLocal),
            ("10.1.2.3", AddressKind::Private),
            ("172.31.0.1", AddressKind::Private),
            ("192.168.0.1", AddressKind::Private),
            ("100.64.0.1", AddressKind::Private),
            ("fd00:ec2::254", AddressKind::Private),
            ("172.32.0.1", AddressKind::Public),
            ("192.0.2.1", AddressKind::Public),
            ("2001:db8::1", AddressKind::Public),
        ] {
            let ip = address.parse().expect("an address");
            assert_eq!(AddressKind::from_ip(ip), kind, "{address}");
        }
    }

    #[test]
    fn a_server_leads_to_public_addresses_and_those_of_its_own_kind() {
        let leads = |from, ip: &str| {
            let ip = ip.parse().expect("an address");
            check(from, &OtherKind { host: "h".to_owned(), ip }).is_ok()
        };
        for ip in ["192.0.2.1", "10.0.0.1", "169.254.169.254", "127.0.0.1"] {
            let kind = AddressKind::from_ip(ip.parse().expect("an address"));
            assert!(leads(None, ip), "{ip} is what the user named");
            for from in AddressKind::ALL {
                let is_allowed = kind == AddressKind::Public || kind == from;
                assert_eq!(leads(Some(from), ip), is_allowed, "{from:?} {ip}");
            }
        }
    }

    #[test]
    fn names_are_resolved_to_addresses_of_one_kind() {
        let names = Names::new(|name: &str| {
            Ok::<_, std::io::Error>(vec![name.parse().expect("an address")])
        });
        for kind in AddressKind::ALL {
            let names = NamesOfKind { names: names.clone(), kind };
            for ip in ["192.0.2.1", "10.0.0.1", "169.254.169.254", "127.0.0.1"] {
                let uri = format!("http://{ip}/").parse().expect("a URI");
                let found = names.resolve(&uri, &Config::default(), NextTimeout::default());
                let is_of_kind = AddressKind::from_ip(ip.parse().expect("an address")) == kind;
                assert_eq!(found.is_ok(), is_of_kind, "{kind:?} {ip}");
            }
        }
    }
}
