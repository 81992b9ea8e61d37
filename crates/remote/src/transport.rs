//! HTTP requests of the object store library. The library is asynchronous; these requests block the
//! thread.

use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use http::{HeaderMap, Request, Response, StatusCode, request};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use ureq::config::Config;
use ureq::tls::{TlsConfig, TlsProvider};
use ureq::{Agent, BodyReader, Error};

use crate::agents::{Agents, Answered};
use crate::bounds::ListingBounds;
use crate::keys::OddObjects;
use crate::names::Names;
use crate::redirect;
use crate::trouble::Trouble;
use crate::trust;

/// The maximum number of requests in flight, each of which keeps its connection.
pub const REQUESTS_AT_ONCE: u64 = 32;

/// Timeout for connecting to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for the headers of a response.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for receiving the body of a response that is not a whole object.
const BODY_TIMEOUT: Duration = Duration::from_secs(90);

/// The number of bytes that are passed on at a time.
const SLICE: usize = 128 << 10;

/// The maximum number of bytes of the body of a redirect that are read, so that its connection can
/// be used again.
const REDIRECT_BODY_MAX: u64 = 64 << 10;

/// The end of the body of an error that is longer than what is kept of it.
pub(crate) const CUT: &str = "<!-- of which 64 KiB were read -->";

/// The maximum number of bytes of the body of an error. What comes after them is not read.
const ERROR_MAX: u64 = 64 << 10;

/// The maximum number of bytes of a part of a listing. A thousand keys of 1 KiB, each byte escaped,
/// take some 6 MiB.
const LISTING_MAX: u64 = 32 << 20;

/// The maximum number of bytes of the reply of a service of credentials.
const CREDENTIALS_MAX: u64 = 1 << 20;

/// A header that each signed request to a store has.
const S3_DATE: &str = "x-amz-date";

/// An HTTP client. Its connections are kept for the next requests.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    agents: Agents,
    config: Config,
    names: Names,
    server: Server,
    /// What the library cannot parse in the listings that have come.
    odd: OddObjects,
    bounds: ListingBounds,
}

/// The server that a client sends its requests to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Store,
    /// A service that gives out credentials for the store.
    Credentials,
}

/// What a request is for, on which the treatment of its response depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// A range of an object.
    Range,
    /// A whole object. There is no timeout for it; the reader watches its progress.
    Whole,
    /// A part of a listing.
    Listing,
    Credentials,
}

impl Transport {
    /// Creates a client that resolves host names with `names`.
    ///
    /// # Errors
    /// When the certificate authorities cannot be read.
    pub(crate) fn new(names: Names) -> Result<Self, Trouble> {
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(
                rustls::crypto::aws_lc_rs::default_provider(),
            ))
            .root_certs(trust::roots()?);
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .user_agent(concat!("garland/", env!("CARGO_PKG_VERSION")))
            // They are followed below, by rules of this program.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(ANSWER_TIMEOUT))
            .max_idle_connections(REQUESTS_AT_ONCE as usize)
            .max_idle_connections_per_host(REQUESTS_AT_ONCE as usize)
            .tls_config(tls.build())
            .build();
        let agents = Agents::new(&config, &names);
        let server = Server::Store;
        let odd = OddObjects::default();
        Ok(Self { agents, config, names, server, odd, bounds: ListingBounds::default() })
    }

    /// Returns a client for the service that gives out the credentials of this one's store. They
    /// have nothing in common: a store is to reach nothing of what that service reaches.
    pub(crate) fn for_credentials(&self) -> Self {
        Self {
            agents: Agents::new(&self.config, &self.names),
            server: Server::Credentials,
            ..self.clone()
        }
    }

    /// Returns the objects that are kept out of listings.
    pub(crate) fn odd_objects(&self) -> OddObjects {
        self.odd.clone()
    }

    /// Returns the bounds of the listing that comes by this client.
    pub(crate) fn listing_bounds(&self) -> ListingBounds {
        self.bounds.clone()
    }

    /// Sends a request, and follows redirects.
    fn send(
        &self,
        request: Request<Vec<u8>>,
        patience: Option<Duration>,
    ) -> Result<Response<ureq::Body>, Error> {
        let mut request = request;
        let mut from = None;
        for _ in 0..=redirect::REDIRECTS_MAX {
            let Answered { kind, response } = self.agents.ask(&request, patience, from)?;
            match redirect::follow(&request, &response)? {
                None => return Ok(response),
                Some(next) => request = next,
            }
            if patience.is_some() {
                let mut rest = response.into_body().into_reader().take(REDIRECT_BODY_MAX);
                // Without it there is another connection.
                let _ = io::copy(&mut rest, &mut io::sink());
            }
            // The first server decides: what it leads to may lead nowhere else.
            from = from.or(Some(kind));
        }
        Err(Error::TooManyRedirects)
    }

    fn wanted(&self, parts: &request::Parts) -> Wanted {
        let asks_for = |wanted: &str| {
            parts.uri.query().is_some_and(|query| query.split('&').any(|word| word == wanted))
        };
        if self.server == Server::Credentials {
            Wanted::Credentials
        } else if parts.headers.contains_key(RANGE) {
            Wanted::Range
        } else if asks_for("list-type=2") {
            Wanted::Listing
        } else if asks_for("session") && parts.headers.contains_key(S3_DATE) {
            // A directory bucket gives out credentials itself.
            Wanted::Credentials
        } else {
            Wanted::Whole
        }
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let wanted = self.wanted(&parts);
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let patience = (wanted != Wanted::Whole).then_some(BODY_TIMEOUT);
        let request = Request::from_parts(parts, body.to_vec());
        let response = self.send(request, patience).map_err(unsent)?;
        let (mut parts, body) = response.into_parts();
        if wanted == Wanted::Range && parts.status == StatusCode::OK && is_part(&parts.headers) {
            // Servers that use gofakes3, such as rclone, return 200 for a range.
            parts.status = StatusCode::PARTIAL_CONTENT;
        }
        if parts.status == StatusCode::TOO_MANY_REQUESTS {
            // The library retries 503, but not 429.
            parts.status = StatusCode::SERVICE_UNAVAILABLE;
        }
        let body = body.into_reader();
        // The library keeps the whole body of each of these responses.
        let kept = match wanted {
            // No timeout limits how long it takes to come.
            Wanted::Whole if !parts.status.is_success() => Vec::new(),
            _ if !parts.status.is_success() => read_error(body),
            Wanted::Range | Wanted::Whole => {
                return Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(Answer(body))));
            }
            Wanted::Credentials => read_all(body, CREDENTIALS_MAX)?,
            Wanted::Listing => {
                let listing = read_all(body, LISTING_MAX)?;
                let listing = String::from_utf8(listing).map_err(unusable)?;
                self.bounds.advance(&query).map_err(unusable)?;
                self.odd.take_out(&listing, &self.bounds).map_err(unusable)?.into_bytes()
            }
        };
        parts.headers.remove(CONTENT_LENGTH);
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(kept)))
    }
}

/// Reads the body of an error as far as it is kept, or comes.
fn read_error(body: BodyReader<'static>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The status says what is wrong, too.
    let _ = body.take(ERROR_MAX + 1).read_to_end(&mut bytes);
    let is_cut = bytes.len() as u64 > ERROR_MAX;
    bytes.truncate(ERROR_MAX as usize);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if is_cut {
        text.push_str(CUT);
    }
    text.into_bytes()
}

/// Reads a body of at most `limit` bytes.
fn read_all(body: BodyReader<'static>, limit: u64) -> Result<Vec<u8>, HttpError> {
    let mut bytes = Vec::new();
    body.take(limit + 1).read_to_end(&mut bytes).map_err(interrupted)?;
    if bytes.len() as u64 > limit {
        let message = format!("the server's reply is longer than {} MiB", limit >> 20);
        return Err(unusable(io::Error::other(message)));
    }
    Ok(bytes)
}

fn interrupted(error: io::Error) -> HttpError {
    HttpError::new(HttpErrorKind::Interrupted, error)
}

/// Converts the error of a response that would be the same the next time.
fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> HttpError {
    HttpError::new(HttpErrorKind::Unknown, error)
}

/// Returns whether a response is partial content of the right length.
fn is_part(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let span = || {
        let (first, rest) = text(CONTENT_RANGE)?.strip_prefix("bytes ")?.split_once('-')?;
        let last: u64 = rest.split_once('/')?.0.parse().ok()?;
        last.checked_add(1)?.checked_sub(first.parse().ok()?)
    };
    let length = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
    length.is_some() && length == span()
}

/// The body of a response.
struct Answer(BodyReader<'static>);

impl Body for Answer {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let mut slice = vec![0; SLICE];
        let read = loop {
            match self.0.read(&mut slice) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        Poll::Ready(match read {
            Ok(0) => None,
            Ok(length) => {
                slice.truncate(length);
                Some(Ok(Frame::data(slice.into())))
            }
            Err(error) => Some(Err(interrupted(error))),
        })
    }
}

/// Converts the error of a request without a response; its kind decides whether the library
/// retries. A connection that breaks during the TLS handshake is one as any other; only a server
/// that cannot be believed, or speaks no TLS, is the same the next time.
fn unsent(error: Error) -> HttpError {
    let kind = match &error {
        Error::Io(io) if is_final(io) => HttpErrorKind::Unknown,
        Error::Io(io) if io.kind() == io::ErrorKind::ConnectionRefused => HttpErrorKind::Connect,
        Error::Io(_) | Error::ConnectionFailed => HttpErrorKind::Interrupted,
        Error::Timeout(_) => HttpErrorKind::Timeout,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

/// Returns whether a TLS handshake ended in an error that another one would end in, too.
fn is_final(error: &io::Error) -> bool {
    use rustls::Error::{InvalidCertificate, InvalidMessage, PeerIncompatible};
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    matches!(cause, Some(InvalidCertificate(_) | InvalidMessage(_) | PeerIncompatible(_)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

    use super::*;

    /// Serves one connection by `answer`, and returns the error of an HTTPS request there.
    fn error_of_https(answer: impl FnOnce(std::net::TcpStream) + Send + 'static) -> HttpError {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let at = listener.local_addr().expect("it listens");
        let served = std::thread::spawn(move || answer(listener.accept().expect("a client").0));
        let names = Names::new(|_| Ok::<_, io::Error>(vec![IpAddr::from(Ipv4Addr::LOCALHOST)]));
        let transport = Transport::new(names).expect("the system has authorities");
        let request = Request::get(url(at)).body(Vec::new()).expect("a request");
        let error = transport.send(request, None).expect_err("no TLS is spoken there");
        served.join().expect("it has answered");
        unsent(error)
    }

    fn url(at: SocketAddr) -> String {
        format!("https://{at}/x")
    }

    #[test]
    fn a_port_without_tls_is_asked_once_and_a_broken_handshake_again() {
        let plain = error_of_https(|mut client| {
            let mut hello = [0; 64];
            let _ = client.read(&mut hello);
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            // Waits for the client's end: an early one may take the answer away.
            let _ = io::copy(&mut client, &mut io::sink());
        });
        assert_eq!(plain.kind(), HttpErrorKind::Unknown, "{plain}");
        // Which `answer` has a hint for.
        assert!(format!("{plain:?}").contains("InvalidContentType"), "{plain:?}");
        let broken = error_of_https(drop);
        assert_eq!(broken.kind(), HttpErrorKind::Interrupted, "{broken}");
    }
}
