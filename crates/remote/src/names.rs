//! Resolves host names with a given function.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// The maximum number of addresses of a name, which is that of [`ResolvedSocketAddrs`].
const MAX_ADDRESSES: usize = 16;

/// Resolves host names. A static program cannot always use the C library for this.
#[derive(Clone)]
pub struct Names(Arc<Find>);

type Find = dyn Fn(&str) -> Result<Vec<IpAddr>, Error> + Send + Sync;

impl Names {
    /// Creates a resolver that calls `find`, which returns the addresses in the order in which they
    /// are tried.
    pub fn new<E: std::error::Error + Send + Sync + 'static>(
        find: impl Fn(&str) -> Result<Vec<IpAddr>, E> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |name| find(name).map_err(|error| Error::Other(error.into()))))
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

impl Resolver for Names {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let host = uri.host().ok_or(Error::HostNotFound)?;
        let port =
            uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        let addresses = (self.0)(host)?;
        let mut found = self.empty();
        for address in addresses.into_iter().take(MAX_ADDRESSES) {
            found.push(SocketAddr::new(address, port));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn all_addresses_of_a_server_are_tried_in_turn_as_far_as_the_library_takes_them() {
        let found = |count: u8| {
            let names = Names::new(move |_: &str| {
                let addresses = (1..=count).map(|last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
                Ok::<Vec<IpAddr>, std::io::Error>(addresses.collect())
            });
            let uri = "http://a:81/".parse().expect("a URI");
            let timeout = NextTimeout::default();
            let found = names.resolve(&uri, &Config::default(), timeout).expect("addresses");
            found.iter().map(ToString::to_string).collect::<Vec<String>>()
        };
        assert_eq!(found(2), ["192.0.2.1:81", "192.0.2.2:81"]);
        assert_eq!(found(99).len(), MAX_ADDRESSES);
    }
}
