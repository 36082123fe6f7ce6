//! Which web pages may use the service: browsers say where a page came from, and nothing else does (V1).

use axum::http::HeaderValue;

/// The origins of web pages that may use the service. A request without an origin, of a program that is no browser, is always
/// served: what keeps others out is the room's code and the ticket.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Origins(Allowed);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Allowed {
    Any,
    Listed(Vec<String>),
}

impl Default for Allowed {
    fn default() -> Allowed {
        Allowed::Listed(Vec::new())
    }
}

impl Origins {
    /// Every web page: whoever visits one may be made to join, and to use up limits of its address.
    #[must_use]
    pub fn any() -> Origins {
        Origins(Allowed::Any)
    }

    /// These and no others, each written as a browser writes it: `https://game.example`, with the port if it is not the usual.
    #[must_use]
    pub fn listed(origins: impl IntoIterator<Item = String>) -> Origins {
        Origins(Allowed::Listed(origins.into_iter().collect()))
    }

    /// Whether a request of this origin is served.
    pub(super) fn allows(&self, origin: Option<&HeaderValue>) -> bool {
        let Some(origin) = origin else { return true };
        match &self.0 {
            Allowed::Any => true,
            Allowed::Listed(origins) => origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_an_origin_is_allowed_as_it_is_written_or_not_at_all() {
        let listed = Origins::listed(["https://game.example".to_owned()]);
        let allows = |origins: &Origins, origin| origins.allows(Some(&HeaderValue::from_static(origin)));
        assert!(allows(&listed, "https://game.example") && listed.allows(None));
        for other in ["http://game.example", "https://game.example:8443", "https://game.example.evil", "null", ""] {
            assert!(!allows(&listed, other) && !allows(&Origins::default(), other), "{other}");
            assert!(allows(&Origins::any(), other), "{other}");
        }
        assert!(Origins::default().allows(None));
    }
}
