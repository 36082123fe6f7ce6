//! One request to the service's HTTP side, over a connection of its own (V1).

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::time::timeout;

use crate::tls::TlsClient;
use crate::transport::Transport;

/// Most bytes of an answer.
pub const MAX_RESPONSE_BYTES: usize = 256 * 1024;
/// How long a request may take in all.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a request to the service failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HttpError {
    /// The network failed.
    #[error("the network failed: {0}")]
    Io(io::ErrorKind),
    /// It took too long.
    #[error("the service took too long to answer")]
    Timeout,
    /// The address is not `host:port`.
    #[error("the address is not host:port")]
    Address,
    /// The other side broke HTTP, or its answer is longer than [`MAX_RESPONSE_BYTES`].
    #[error("the other side does not speak HTTP as expected")]
    Protocol,
    /// The answer is not one of this service's.
    #[error("the answer is not one of this service's")]
    Malformed,
    /// The service refused, with a stable code and words for people.
    #[error("the service refused with status {status}, {code}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The code to branch on.
        code: String,
        /// The explanation.
        message: String,
    },
}

impl From<io::Error> for HttpError {
    fn from(error: io::Error) -> HttpError {
        HttpError::Io(error.kind())
    }
}

impl From<hyper::Error> for HttpError {
    fn from(_: hyper::Error) -> HttpError {
        HttpError::Protocol
    }
}

/// One request.
pub(crate) struct Ask<'a> {
    pub(crate) address: &'a str,
    pub(crate) tls: Option<&'a TlsClient>,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// What authorises it.
    pub(crate) bearer: Option<&'a str>,
    /// JSON, or nothing.
    pub(crate) body: String,
}

impl Ask<'_> {
    /// The answer, if it is one of success.
    pub(crate) async fn answer(self) -> Result<Value, HttpError> {
        timeout(REQUEST_TIMEOUT, self.exchange()).await.map_err(|_| HttpError::Timeout)?
    }

    async fn exchange(self) -> Result<Value, HttpError> {
        let Ask { address, tls, method, path, bearer, body } = self;
        let mut request =
            Request::builder().method(method).uri(path).header(HOST, address).header(CONTENT_TYPE, "application/json");
        if let Some(bearer) = bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {bearer}"));
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|_| HttpError::Address)?;
        let stream = Transport::connect(address, tls).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let answer = async move {
            let response = sender.send_request(request).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
            Ok::<_, HttpError>((status, body.map_err(|_| HttpError::Protocol)?.to_bytes()))
        };
        // The connection has to be driven beside the request; it ends with the answer.
        tokio::pin!(answer);
        let (status, body) = tokio::select! {
            biased;
            answer = &mut answer => answer,
            _ = connection => answer.await,
        }?;
        read_answer(status, &body)
    }
}

fn read_answer(status: StatusCode, body: &[u8]) -> Result<Value, HttpError> {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    if status.is_success() {
        return answer.ok_or(HttpError::Malformed);
    }
    let part = |name| answer.as_ref().and_then(|answer| answer.get(name)).and_then(Value::as_str);
    let code = part("code").unwrap_or("unknown").to_owned();
    Err(HttpError::Refused { status: status.as_u16(), code, message: part("message").unwrap_or_default().to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn v1_an_answer_is_read_with_its_code_whatever_it_is() {
        let refused = |status: u16, code: &str, message: &str| {
            Err(HttpError::Refused { status, code: code.to_owned(), message: message.to_owned() })
        };
        let read = |status, body: &str| read_answer(StatusCode::from_u16(status).expect("valid"), body.as_bytes());
        assert_eq!(read(200, r#"{"code":"AB"}"#), Ok(json!({"code": "AB"})));
        assert_eq!(read(200, "no json"), Err(HttpError::Malformed));
        assert_eq!(read(404, r#"{"code":"no-such-room","message":"m"}"#), refused(404, "no-such-room", "m"));
        assert_eq!(read(502, "<html>"), refused(502, "unknown", ""));
        assert_eq!(read(400, r#"{"code":7}"#), refused(400, "unknown", ""));
    }
}
