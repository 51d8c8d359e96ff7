//! The download of one file: where it stopped, with retries, until its digest is right.

use std::fs;
use std::io::Read;
use std::time::Duration;

use causerie::{DownloadFault, ErrorKind, Result, SdkError};

use crate::address::WebAddress;
use crate::digest::FileDigest;
use crate::fault::{Trouble, corrupt};
use crate::part::{BlobPart, PIECE};
use crate::plan::{DownloadPlan, PlannedFile};
use crate::progress::{PullState, Watch};
use crate::requests::{Requests, ServerAnswer, broken_connection, check_encoding, is_web_page};
use crate::store::RepositoryStore;
use crate::transport::HttpResponse;

/// Failures in a row after which a transfer ends.
const MAX_FAILURES: u32 = 5;
/// Wrong contents in a row after which it ends.
const MAX_WRONG: u32 = 2;
/// The longest pause between two tries, as a multiple of the first one.
const MAX_PAUSE: u32 = 16;

/// What the downloads of all files of a plan share.
pub(crate) struct Transfer<'a> {
    pub(crate) requests: &'a Requests<'a>,
    pub(crate) store: &'a RepositoryStore,
    pub(crate) plan: &'a DownloadPlan,
    pub(crate) watch: &'a Watch,
    pub(crate) first_pause: Duration,
}

impl Transfer<'_> {
    /// Downloads a file and returns its digest. `counted` bytes of it are part of the progress already.
    pub(crate) fn fetch(&self, file: &PlannedFile, counted: u64) -> Result<FileDigest> {
        let lock = self.store.lock(file, self.watch)?;
        if self.store.has(self.plan, file) {
            self.watch.correct(counted, file.size); // another download has finished it
            return Ok(file.digest.clone());
        }
        let mut part = BlobPart::open(self.store.part_under(&lock, &file.digest), file, self.watch)?;
        self.watch.correct(counted, part.length());
        let fetched = self.fetch_rest(file, &mut part);
        if fetched.is_err() && part.length() == 0 {
            let _ = fs::remove_file(part.path()); // there is nothing to go on from
        }
        fetched
    }

    /// Downloads what is missing, checks the file, and gives it its final name.
    fn fetch_rest(&self, file: &PlannedFile, part: &mut BlobPart<'_>) -> Result<FileDigest> {
        for _ in 0..MAX_WRONG {
            self.complete(file, part)?;
            self.watch.enter(PullState::Verifying, &file.path);
            let found = part.right_digest().map_err(|err| self.store.write_error(part.path(), part.missing(), err))?;
            if let Some(digest) = found {
                self.store.install(part.path(), &digest)?;
                return Ok(digest);
            }
            part.discard(self.watch)?;
        }
        Err(corrupt(format!(
            "{} of {} does not match its digest, after two downloads",
            file.path, self.plan.repository
        )))
    }

    /// Receives the bytes that are missing.
    fn complete(&self, file: &PlannedFile, part: &mut BlobPart<'_>) -> Result<()> {
        let mut failures = Failures::default();
        while 0 < part.missing() {
            self.watch.check()?;
            self.watch.enter(PullState::Downloading, &file.path);
            let before = part.length();
            let received = self.receive(file, part);
            // The end of an interrupted request is not a failure.
            self.watch.check()?;
            match received {
                Ok(()) => {}
                Err(Trouble::Final(err) | Trouble::OutOfRange(err)) => return Err(err),
                Err(Trouble::Passing(err, wait)) => {
                    failures.count(before < part.length(), err)?;
                    self.watch.enter(PullState::Waiting, &file.path);
                    self.watch.pause(wait.unwrap_or_else(|| failures.pause(self.first_pause)))?;
                }
            }
        }
        Ok(())
    }

    /// One request. Bytes that arrive are kept, whatever comes after them.
    fn receive(&self, file: &PlannedFile, part: &mut BlobPart<'_>) -> Result<(), Trouble> {
        let url = self.plan.url(&self.requests.endpoint.url(), file);
        let what = format!("{} of {}", file.path, self.plan.repository);
        let answer = self.requests.get(&url, part.length(), &what);
        let ServerAnswer { response, from, .. } = match answer {
            Err(Trouble::OutOfRange(err)) => {
                part.discard(self.watch)?;
                return Err(Trouble::Passing(err, None));
            }
            answer => answer?,
        };
        check_encoding(&response, &from)?;
        match AnsweredBytes::new(&response, part.length(), file.size) {
            AnsweredBytes::Rest => {}
            AnsweredBytes::Whole => part.discard(self.watch)?,
            AnsweredBytes::Other(found) => {
                part.discard(self.watch)?;
                let message = format!("{} sends {found} for {what}, which has {} bytes", from.authority(), file.size);
                return Err(Trouble::Passing(corrupt(message), None));
            }
        }
        self.append(response, part, &from)
    }

    fn append(&self, response: HttpResponse, part: &mut BlobPart<'_>, from: &WebAddress) -> Result<(), Trouble> {
        let mut body = response.body.take(part.missing());
        let mut buffer = vec![0; PIECE];
        while 0 < part.missing() {
            self.watch.check()?;
            let n_read = body.read(&mut buffer).map_err(|err| broken_connection(from, err))?;
            if n_read == 0 {
                return Err(broken_connection(from, std::io::ErrorKind::UnexpectedEof.into()));
            }
            part.append(&buffer[..n_read]).map_err(|err| self.store.write_error(part.path(), part.missing(), err))?;
            self.watch.receive(n_read);
        }
        Ok(())
    }
}

/// Which bytes of a file an answer has.
enum AnsweredBytes {
    /// The bytes after the downloaded ones.
    Rest,
    /// All of them, although a range was asked for.
    Whole,
    /// Something else, described for a person.
    Other(String),
}

impl AnsweredBytes {
    fn new(response: &HttpResponse, first_byte: u64, size: u64) -> Self {
        let length = response.header("content-length").and_then(|length| length.trim().parse::<u64>().ok());
        match response.status {
            // A portal or an error page; no file of a model is one.
            200 | 206 if is_web_page(response) && length != Some(size - first_byte) => {
                Self::Other("a web page (text/html)".to_owned())
            }
            206 => match response.header("content-range").map(|range| (range, parse_range(range))) {
                Some((_, Some((first, total)))) if first == first_byte && total.is_none_or(|total| total == size) => {
                    Self::Rest
                }
                Some((range, _)) => Self::Other(format!("the range {:?}", range.chars().take(60).collect::<String>())),
                None => Self::Other("a range without its place".to_owned()),
            },
            200 if length.is_some_and(|length| length != size) => {
                Self::Other(format!("{} bytes", length.unwrap_or_default()))
            }
            200 if first_byte == 0 => Self::Rest,
            200 => Self::Whole,
            status => Self::Other(format!("the status {status}")),
        }
    }
}

/// The first byte and the total size in `bytes 5-9/10`; no size for `*`.
fn parse_range(range: &str) -> Option<(u64, Option<u64>)> {
    let (bytes, total) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let first = bytes.split_once('-')?.0.trim().parse().ok()?;
    match total.trim() {
        "*" => Some((first, None)),
        total => Some((first, Some(total.parse().ok()?))),
    }
}

/// Failures in a row.
#[derive(Default)]
pub(crate) struct Failures {
    n_failed: u32,
    n_wrong: u32,
}

impl Failures {
    /// Counts a failure, after which progress begins anew; an error after too many.
    pub(crate) fn count(&mut self, has_progress: bool, err: SdkError) -> Result<()> {
        if has_progress {
            self.n_failed = 0;
        }
        self.n_failed += 1;
        self.n_wrong += u32::from(err.kind() == ErrorKind::Download(DownloadFault::Corrupt));
        if MAX_FAILURES <= self.n_failed || MAX_WRONG <= self.n_wrong {
            return Err(err);
        }
        log::info!("a download goes on after failure {}: {err}", self.n_failed);
        Ok(())
    }

    /// The pause before the next try, between one half of the doubled pause and all of it.
    pub(crate) fn pause(&self, first: Duration) -> Duration {
        let doubled = 2_u32.saturating_pow(self.n_failed.saturating_sub(1)).min(MAX_PAUSE);
        first.saturating_mul(doubled).mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(status: u16, headers: &[(&str, &str)], first_byte: u64) -> String {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let response = HttpResponse { status, headers, body: Box::new(std::io::empty()) };
        match AnsweredBytes::new(&response, first_byte, 10) {
            AnsweredBytes::Rest => "rest".to_owned(),
            AnsweredBytes::Whole => "whole".to_owned(),
            AnsweredBytes::Other(found) => found,
        }
    }

    #[test]
    fn only_the_right_bytes_are_appended() {
        for (status, header, first_byte, expect) in [
            (200, ("content-length", "10"), 0, "rest"),
            (200, ("x", "y"), 0, "rest"),
            (200, ("content-length", "10"), 4, "whole"),
            (200, ("content-length", "11"), 0, "11 bytes"),
            (200, ("content-length", "9"), 4, "9 bytes"),
            (206, ("content-range", "bytes 4-9/10"), 4, "rest"),
            (206, ("content-range", "bytes 4-9/*"), 4, "rest"),
            (206, ("content-range", "bytes 0-9/10"), 4, "the range \"bytes 0-9/10\""),
            (206, ("content-range", "bytes 4-10/11"), 4, "the range \"bytes 4-10/11\""),
            (206, ("content-range", "bytes x"), 4, "the range \"bytes x\""),
            (206, ("x", "y"), 4, "a range without its place"),
            (200, ("content-type", "Text/HTML; charset=utf-8"), 0, "a web page (text/html)"),
            (204, ("x", "y"), 0, "the status 204"),
        ] {
            assert_eq!(content(status, &[header], first_byte), expect, "{status} {header:?}");
        }
    }
}
