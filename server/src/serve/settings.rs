//! The settings of a server.

use std::time::Duration;

use crate::access::{Hosted, LocalKeys};

/// Limits and permissions of a server. `Settings::default()` is what `causerie serve` uses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests that are answered at the same time. Default 4.
    pub slots: usize,
    /// Requests that wait; further ones are refused with 429. Default 64.
    pub queue: usize,
    /// Limit on a request's body in bytes. Default 32 MiB. The bodies that arrive and the bodies of the requests that wait have
    /// eight times as much together, beyond the first 64 KiB of each.
    pub max_body: usize,
    /// Connections at the same time; further ones are answered with 503. Default 2,048.
    pub max_connections: usize,
    /// Time from the start of a connection, or the end of its last request, to the end of the next headers. Default 30 s.
    pub header_timeout: Duration,
    /// Time from the headers to the end of the body. Default 30 s.
    pub body_timeout: Duration,
    /// Time that a client may leave written bytes unread. Default 30 s.
    pub write_timeout: Duration,
    /// Interval of the comments that keep a silent stream alive. Default 10 s.
    pub keep_alive: Duration,
    /// Time that running replies have after the server was asked to stop. Default 30 s.
    pub drain_timeout: Duration,
    /// Host names, besides loopback ones, that a server on a loopback address answers to.
    pub allowed_hosts: Vec<String>,
    /// Origins, besides loopback ones, whose pages may use the server: `https://example.org`, or `app://*` for all of a
    /// scheme. What [`check_origin`](crate::serve::check_origin) refuses matches nothing.
    pub allowed_origins: Vec<String>,
    /// Hosts whose images are fetched for requests that name them by address: `images.example.org`, or with a port. They must
    /// have public addresses. Default empty: a request contains its images.
    pub image_hosts: Vec<String>,
    /// How long a sound may last. Default 1 hour.
    pub max_sound: Duration,
    /// Refuses requests with unknown fields, instead of listing the fields in the response's `x-ignored-fields`.
    pub strict_fields: bool,
    /// Refuses requests for another model than the one served, or for none, instead of naming the model in the response's
    /// `x-served-model`.
    pub strict_model: bool,
    /// Base path and keys of a hosted server. Default `None`: a local server.
    pub hosted: Option<Hosted>,
    /// Keys of a local server, of which each request needs one. Default `None`: everyone who reaches it may use it.
    pub local_keys: Option<LocalKeys>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 4,
            queue: 64,
            max_body: 32 << 20,
            max_connections: 2048,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            image_hosts: Vec::new(),
            max_sound: Duration::from_secs(3_600),
            strict_fields: false,
            strict_model: false,
            hosted: None,
            local_keys: None,
        }
    }
}
