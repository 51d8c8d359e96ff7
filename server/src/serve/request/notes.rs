//! What the headers of a reply say about its request.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// Limit on the names in the header `x-ignored-fields`, in bytes.
const MAX_IGNORED_BYTES: usize = 2048;

/// How a request was read, where that may surprise its sender.
#[derive(Debug, Default)]
pub(in crate::serve) struct RequestNotes {
    /// Fields that were ignored.
    pub(in crate::serve) ignored: Vec<String>,
    /// Whether another model than the one served was requested, or none.
    pub(in crate::serve) is_other_model: bool,
}

impl RequestNotes {
    /// The headers of a reply of this model.
    pub(in crate::serve) fn headers(&self, model_id: &str) -> HeaderMap {
        let model = HeaderValue::from_str(&model_id.escape_debug().to_string()).ok().filter(|_| self.is_other_model);
        let named = |name: &'static str, value: Option<HeaderValue>| Some((HeaderName::from_static(name), value?));
        let headers = [named("x-ignored-fields", self.ignored_header()), named("x-served-model", model)];
        headers.into_iter().flatten().collect()
    }

    /// The names of ignored fields as a header can carry them: without line breaks, and within the limit of bytes.
    fn ignored_header(&self) -> Option<HeaderValue> {
        let mut left = MAX_IGNORED_BYTES;
        let (mut listed, longer): (Vec<String>, Vec<String>) =
            self.ignored.iter().map(|name| name.escape_debug().to_string()).partition(|name| {
                let fits = name.len() <= left;
                left -= if fits { name.len() } else { 0 };
                fits
            });
        if !longer.is_empty() {
            listed.push("...".to_owned());
        }
        HeaderValue::from_str(&listed.join(", ")).ok().filter(|header| !header.is_empty())
    }
}
