//! HTTP clients whose connections lead to addresses of one kind.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::sync::Mutex;
use http::{Request, Response};
use ureq::config::Config;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Error};

use crate::names::Names;
use crate::redirect::{self, AddressKind, NamesOfKind, OtherKind};

/// The maximum number of lookups of the name of a server for one request. The name has addresses of
/// another kind each time if there are more.
const LOOKUPS_MAX: usize = 3;

/// An HTTP client for each kind of addresses. A connection that is used again is of the kind of its
/// client, whatever address its server's name has now.
#[derive(Clone, Debug)]
pub(crate) struct Agents {
    by_kind: BTreeMap<AddressKind, Agent>,
    /// The kind that the last server had. It saves lookups, and decides nothing.
    usual: Arc<Mutex<AddressKind>>,
}

/// A response, and the kind of the address that it came from.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) kind: AddressKind,
    pub(crate) response: Response<Body>,
}

impl Agents {
    pub(crate) fn new(config: &Config, names: &Names) -> Self {
        let agent = |kind| {
            let names = NamesOfKind { names: names.clone(), kind };
            (kind, Agent::with_parts(config.clone(), DefaultConnector::default(), names))
        };
        Self {
            by_kind: AddressKind::ALL.into_iter().map(agent).collect(),
            usual: Arc::new(Mutex::new(AddressKind::Public)),
        }
    }

    /// Sends a request, which a server `from` an address of this kind redirected; `None` if none
    /// did.
    ///
    /// # Errors
    /// When there is no response, or the redirect is not to be followed.
    pub(crate) fn ask(
        &self,
        request: &Request<Vec<u8>>,
        patience: Option<Duration>,
        from: Option<AddressKind>,
    ) -> Result<Answered, Error> {
        // What a proxy answers comes from anywhere.
        let mut kind = match from {
            None if !self.is_proxied(request) => *self.usual.lock(),
            _ => AddressKind::Public,
        };
        for _ in 0..LOOKUPS_MAX {
            let agent = &self.by_kind[&kind];
            let asked = agent.configure_request(request.clone()).timeout_recv_body(patience);
            match agent.run(asked.build()) {
                Ok(response) => {
                    *self.usual.lock() = kind;
                    return Ok(Answered { kind, response });
                }
                Err(Error::Other(error)) => match error.downcast_ref::<OtherKind>() {
                    Some(other) => {
                        redirect::check(from, other)?;
                        kind = other.kind();
                    }
                    None => return Err(Error::Other(error)),
                },
                Err(error) => return Err(error),
            }
        }
        Err(Error::Other("the kind of the server's address changes with each lookup".into()))
    }

    fn is_proxied(&self, request: &Request<Vec<u8>>) -> bool {
        let proxy = self.by_kind[&AddressKind::Public].config().proxy();
        proxy.is_some_and(|proxy| !proxy.is_no_proxy(request.uri()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    /// Answers all requests, each on a connection of its own, and returns the port.
    fn serve() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = listener.local_addr().expect("it listens").port();
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                let _ = client.read(&mut [0; 4096]);
                let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
        });
        port
    }

    #[test]
    fn an_inner_server_that_was_asked_is_closed_to_redirects_of_others() {
        let names = Names::new(|name: &str| match name {
            "inner" | "evil" => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            _ => Err(std::io::Error::from(std::io::ErrorKind::NotFound)),
        });
        let config = Agent::config_builder().proxy(None).build();
        let agents = Agents::new(&config, &names);
        let url = |name: &str| format!("http://{name}:{}/", serve());
        let ask = |url: &str, from| {
            let request = Request::get(url).body(Vec::new()).expect("a request");
            agents.ask(&request, None, from).map(|answered| answered.kind)
        };
        // The name of a store has an inner address for a while.
        let first = ask(&url("evil"), None).expect("a response");
        assert_eq!(first, AddressKind::Loopback);
        for from in [AddressKind::Public, AddressKind::Private, AddressKind::LinkLocal] {
            let error = ask(&url("inner"), Some(from)).expect_err("it leads into this machine");
            assert!(error.to_string().contains("inner, which has the inner address"), "{error}");
        }
        let own = ask(&url("inner"), Some(AddressKind::Loopback)).expect("a response");
        assert_eq!(own, AddressKind::Loopback);
    }
}
