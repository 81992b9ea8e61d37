//! Whose certificates are believed.

use ureq::tls::{Certificate, RootCerts};

/// The authorities that this machine believes (`SSL_CERT_FILE`, `SSL_CERT_DIR`, or where its system
/// keeps them), or Mozilla's, which come with the program, where it names none.
pub(crate) fn roots() -> RootCerts {
    let found = rustls_native_certs::load_native_certs();
    let certificates: Vec<_> =
        found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    if certificates.is_empty() {
        return RootCerts::WebPki;
    }
    RootCerts::from(certificates)
}
