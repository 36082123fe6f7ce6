//! TLS to the service, by rustls (V1).

use std::fmt;
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// Whom a client takes for the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Roots<'a> {
    /// Who has a certificate that this machine trusts.
    System,
    /// Who has one that these roots, in PEM form, stand for, and nobody else.
    Only(&'a [u8]),
    /// Either.
    SystemAnd(&'a [u8]),
}

/// How to speak TLS with a service. Cheap to clone, so it is made once and used for every connection.
#[derive(Clone)]
pub struct TlsClient(Arc<ClientConfig>);

/// Roots that can't be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TlsError {
    /// This machine trusts no certificate, or does not say which.
    #[error("this machine has no trusted certificates")]
    NoSystemRoots,
    /// The text holds no certificate, or what is none.
    #[error("no certificate in PEM form")]
    Certificate,
    /// The TLS library has no protocol version in common with itself. Never seen.
    #[error("no protocol version")]
    Versions,
}

impl TlsClient {
    /// A client that trusts these roots. Reads the machine's store of certificates if that is among them.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(roots: Roots<'_>) -> Result<TlsClient, TlsError> {
        let mut store = RootCertStore::empty();
        if let Roots::System | Roots::SystemAnd(_) = roots {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                return Err(TlsError::NoSystemRoots);
            }
        }
        if let Roots::Only(pem) | Roots::SystemAnd(pem) = roots {
            add(&mut store, pem)?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|_| TlsError::Versions)?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok(TlsClient(Arc::new(config)))
    }

    pub(crate) fn connector(&self) -> TlsConnector {
        TlsConnector::from(self.0.clone())
    }
}

fn add(store: &mut RootCertStore, pem: &[u8]) -> Result<(), TlsError> {
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|_| TlsError::Certificate)?;
        store.add(certificate).map_err(|_| TlsError::Certificate)?;
        count += 1;
    }
    if count == 0 { Err(TlsError::Certificate) } else { Ok(()) }
}

impl PartialEq for TlsClient {
    fn eq(&self, other: &TlsClient) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TlsClient {}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsClient(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_roots_that_are_none_are_refused() {
        for pem in [&b""[..], b"no certificate", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert_eq!(TlsClient::new(Roots::Only(pem)), Err(TlsError::Certificate));
        }
    }
}
