//! Compressed bodies: `Content-Encoding` of gzip or zstd.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use ruzstd::decoding::StreamingDecoder;

use crate::serve::error::HttpError;

/// The largest window of zstd that clients may use: the largest that receivers must know (RFC 9659).
const MAX_WINDOW: u64 = 8 << 20;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Zstd,
}

impl Encoding {
    /// The encoding of a body; `None` if it is not compressed.
    pub(super) fn from_headers(headers: &HeaderMap) -> Result<Option<Self>, HttpError> {
        let mut found = None;
        for value in headers.get_all(CONTENT_ENCODING) {
            for name in String::from_utf8_lossy(value.as_bytes()).split(',') {
                let encoding = match name.trim().to_ascii_lowercase().as_str() {
                    "identity" | "" => continue,
                    "gzip" | "x-gzip" => Self::Gzip,
                    "zstd" => Self::Zstd,
                    other => return Err(unsupported(&format!("found {other:?}"))),
                };
                if found.replace(encoding).is_some() {
                    return Err(unsupported("found several"));
                }
            }
        }
        Ok(found)
    }

    /// The bytes of a body of at most `max_body` bytes.
    pub(super) fn decode(self, body: &[u8], max_body: usize) -> Result<Vec<u8>, HttpError> {
        match self {
            Self::Gzip => read_within(MultiGzDecoder::new(body), max_body),
            Self::Zstd => decode_zstd(body, max_body),
        }
        .map_err(|problem| match problem {
            Problem::TooLarge => HttpError::body_too_large(max_body),
            Problem::Malformed => malformed(self),
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

enum Problem {
    TooLarge,
    Malformed,
}

fn unsupported(found: &str) -> HttpError {
    let message = format!("the header content-encoding must be gzip, zstd or identity, {found}");
    HttpError::unsupported_encoding("gzip, zstd", message)
}

fn malformed(encoding: Encoding) -> HttpError {
    let message = format!("the body must be compressed with {}, as the header content-encoding says", encoding.name());
    HttpError::new(StatusCode::BAD_REQUEST, "invalid_body", message)
}

/// One frame after the other, each with a window within the limit: the decoder keeps as much before it returns anything.
fn decode_zstd(mut body: &[u8], max_body: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while !body.is_empty() {
        if window_size(body).is_none_or(|size| MAX_WINDOW < size) {
            return Err(Problem::Malformed);
        }
        let announced = content_size(body);
        let mut decoder = StreamingDecoder::new(&mut body).map_err(|_| Problem::Malformed)?;
        let content = read_within(&mut decoder, max_body - bytes.len())?;
        let frame = decoder.into_frame_decoder();
        // The decoder reads the checksum and the size of the content, and compares neither.
        let sum = frame.get_checksum_from_data();
        let is_damaged = sum.is_some() && sum != frame.get_calculated_checksum();
        if is_damaged || announced.is_some_and(|size| size != content.len() as u64) {
            return Err(Problem::Malformed);
        }
        bytes.extend(content);
    }
    Ok(bytes)
}

/// The bit of a frame's descriptor that says that its window is its whole content.
const SINGLE_SEGMENT: u8 = 1 << 5;

/// The window of a zstd frame, from its header (RFC 8878, section 3.1.1.1).
fn window_size(frame: &[u8]) -> Option<u64> {
    if frame.get(4)? & SINGLE_SEGMENT != 0 {
        return content_size(frame);
    }
    let window = u64::from(*frame.get(5)?);
    let base = 1 << (10 + (window >> 3));
    Some(base + base / 8 * (window & 7))
}

/// The size of a zstd frame's content, if its header has it.
fn content_size(frame: &[u8]) -> Option<u64> {
    let descriptor = *frame.get(4)?;
    let has_window = descriptor & SINGLE_SEGMENT == 0;
    let n_bytes = match descriptor >> 6 {
        0 if has_window => return None,
        flag => 1 << flag,
    };
    let skipped = 5 + usize::from(has_window) + [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = frame.get(skipped..skipped + n_bytes)?;
    let size = size.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    Some(if n_bytes == 2 { size + 256 } else { size })
}

fn read_within(decoder: impl Read, limit: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let n_bytes = decoder.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|_| Problem::Malformed)?;
    if limit < n_bytes { Err(Problem::TooLarge) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"a": 1}`, as Python's gzip and zstandard compress it: whole, in two members or frames, and without its length; and as
    /// the command zstd does, with a checksum.
    const COMPRESSED: [(Encoding, &str); 6] = [
        (Encoding::Gzip, "1f8b0800000000000203ab564a54b25230ac0500978ea1fb08000000"),
        (
            Encoding::Gzip,
            "1f8b0800000000000203ab564a54b25200009cdcb2cd060000001f8b080000000000020333ac0500cc1830a902000000",
        ),
        (Encoding::Zstd, "28b52ffd20084100007b2261223a20317d"),
        (Encoding::Zstd, "28b52ffd20063100007b2261223a2028b52ffd2002110000317d"),
        (Encoding::Zstd, "28b52ffd00584100007b2261223a20317d"),
        (Encoding::Zstd, "28b52ffd24084100007b2261223a20317d7d919d79"),
    ];

    #[test]
    fn bodies_are_decoded_within_the_limit() {
        for (encoding, body) in COMPRESSED {
            let body = hex::decode(body).unwrap();
            assert_eq!(encoding.decode(&body, 8).unwrap(), br#"{"a": 1}"#);
            assert_eq!(encoding.decode(&body, 7).unwrap_err().code(), "body_too_large");
            assert_eq!(encoding.decode(&body[..body.len() - 1], 8).unwrap_err().code(), "invalid_body");
        }
    }

    #[test]
    fn a_damaged_body_is_refused() {
        for (encoding, body) in [
            (Encoding::Gzip, "1f8b0800000000000203ab564a54b25230ac0500978ea1fc08000000"),
            (Encoding::Gzip, "1f8b0800000000000203ab564a54b25230ac0500978ea1fb09000000"),
            // A wrong checksum, a wrong digit, and headers that announce less and more than the content.
            (Encoding::Zstd, "28b52ffd24084100007b2261223a20317d7d919d78"),
            (Encoding::Zstd, "28b52ffd24084100007b2261223a20327d7d919d79"),
            (Encoding::Zstd, "28b52ffd20074100007b2261223a20317d"),
            (Encoding::Zstd, "28b52ffd20094100007b2261223a20317d"),
            (Encoding::Zstd, "28b52ffd405808014100007b2261223a20317d"),
            // The second frame.
            (Encoding::Zstd, "28b52ffd20084100007b2261223a20317d28b52ffd24084100007b2261223a20317d7d919d78"),
        ] {
            assert_eq!(
                encoding.decode(&hex::decode(body).unwrap(), 1000).unwrap_err().code(),
                "invalid_body",
                "{body}"
            );
        }
    }

    #[test]
    fn a_small_body_cannot_take_much_memory() {
        // One byte a hundred times, with a window of 128 MiB, and a block that repeats a byte 2¹⁷ times.
        let wide = hex::decode("28b52ffd008845000010787801003f012c").unwrap();
        assert_eq!(Encoding::Zstd.decode(&wide, 1000).unwrap_err().code(), "invalid_body");
        let repeated = hex::decode("28b52ffd0068030010").unwrap().into_iter().chain(*b"x").collect::<Vec<_>>();
        assert!(Encoding::Zstd.decode(&repeated, 1000).is_err());
        for body in [&b""[..], b"{}", b"\x28\xb5\x2f\xfd", b"\x1f\x8b"] {
            let decoded =
                [Encoding::Gzip, Encoding::Zstd].map(|encoding| encoding.decode(body, 8).map_err(|err| err.code()));
            assert!(decoded.iter().all(|decoded| matches!(decoded, Err("invalid_body") | Ok(_))), "{body:?}");
        }
    }

    #[test]
    fn other_encodings_are_named() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, value.parse().unwrap());
            }
            Encoding::from_headers(&headers).map_err(|err| err.code())
        };
        assert_eq!([of(&[]), of(&["identity"]), of(&[""])], [Ok(None), Ok(None), Ok(None)]);
        assert_eq!([of(&["GZIP"]), of(&["x-gzip"])], [Ok(Some(Encoding::Gzip)), Ok(Some(Encoding::Gzip))]);
        assert_eq!(of(&["identity, zstd"]), Ok(Some(Encoding::Zstd)));
        for values in [&["br"][..], &["deflate"], &["gzip, zstd"], &["gzip", "gzip"]] {
            assert_eq!(of(values), Err("unsupported_encoding"), "{values:?}");
        }
    }
}
