//! Resolves host names with a given function.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Resolves host names. A static program cannot always use the C library for this.
#[derive(Clone)]
pub struct Names(Arc<Find>);

type Find = dyn Fn(&str) -> Result<IpAddr, Error> + Send + Sync;

impl Names {
    /// Creates a resolver that calls `find`.
    pub fn new<E: std::error::Error + Send + Sync + 'static>(
        find: impl Fn(&str) -> Result<IpAddr, E> + Send + Sync + 'static,
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
        let address = (self.0)(host)?;
        let mut found = self.empty();
        found.push(SocketAddr::new(address, port));
        Ok(found)
    }
}
