//! What a route requires of its callers, and why a request is refused.

/// What a route asks of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// No key: probes have none, and the page asks the person for one.
    Nothing,
    /// A key, unless the settings open the metrics.
    MetricsKey,
    /// A key.
    Key,
}

/// Why a request does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessError {
    /// The header `Authorization` is missing.
    MissingKey,
    /// The header is malformed or given twice, or its key is not known.
    InvalidKey,
    /// The key belongs to another organization.
    OtherOrganization,
    /// A server on a local network: no header has a key.
    MissingLocalKey,
    /// A server on a local network: no key that was sent is known.
    InvalidLocalKey,
}
