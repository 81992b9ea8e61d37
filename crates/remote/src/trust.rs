//! The trusted certificate authorities.

use ureq::tls::{Certificate, RootCerts};

/// Returns the certificate authorities that this machine trusts (`SSL_CERT_FILE`, `SSL_CERT_DIR`,
/// or the system's directory). If there are none, returns those of Mozilla, which are part of the
/// program.
pub(crate) fn roots() -> RootCerts {
    let found = rustls_native_certs::load_native_certs();
    let certificates: Vec<_> =
        found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    if certificates.is_empty() {
        return RootCerts::WebPki;
    }
    RootCerts::from(certificates)
}
