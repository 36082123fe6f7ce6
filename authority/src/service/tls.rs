//! TLS by rustls: the service's certificate and key (V1).

use std::fmt;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Most certificates of a chain.
pub const MAX_CERTIFICATE_CHAIN: usize = 16;

/// The certificate chain and the private key with which a service speaks TLS.
#[derive(Clone)]
pub struct TlsIdentity(Arc<ServerConfig>);

/// A certificate or a key that can't be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TlsError {
    /// The text holds no certificate, or what is none.
    #[error("no certificate in PEM form")]
    Certificate,
    /// More certificates than a chain may have.
    #[error("a chain of more than {MAX_CERTIFICATE_CHAIN} certificates")]
    LongChain,
    /// The text holds no private key.
    #[error("no private key in PEM form")]
    Key,
    /// Certificate and key do not belong together, or are of a kind that is not supported.
    #[error("the certificate and the key can't be used: {0}")]
    Refused(rustls::Error),
}

impl TlsIdentity {
    /// The chain, the service's own certificate first, and its key, both in PEM form.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<TlsIdentity, TlsError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
            .take(MAX_CERTIFICATE_CHAIN + 1)
            .collect::<Result<_, _>>()
            .map_err(|_| TlsError::Certificate)?;
        if chain.is_empty() {
            return Err(TlsError::Certificate);
        }
        if chain.len() > MAX_CERTIFICATE_CHAIN {
            return Err(TlsError::LongChain);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Key)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Refused)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(TlsError::Refused)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsIdentity(Arc::new(config)))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.clone())
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsIdentity(..)")
    }
}
