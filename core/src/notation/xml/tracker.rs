//! Follows the body of a block while it is being written.

use crate::notation::offered::OfferedFunctions;
use crate::notation::xml::tags::{PARAMETER_END, Parameters, TagName, function_opening, parameter_opening, scan_value};

/// Knows whether the end of a body is inside of a value, where markers are data.
#[derive(Debug, Default)]
pub(crate) struct ValueTracker {
    /// Bytes of the body that were scanned.
    n_scanned: usize,
    function: String,
    /// How the tag of the last parameter begins.
    opening: &'static str,
    /// The tags that are open inside of the value, if the scanned text ends in one.
    level: Option<usize>,
}

impl ValueTracker {
    /// Whether a marker that follows the body is inside of a value. `is_end` is whether it is the end marker of a block, which
    /// may follow the closing tag of a value.
    pub(crate) fn is_in_value(&mut self, body: &str, offered: &OfferedFunctions, is_end: bool) -> bool {
        loop {
            match self.level {
                Some(level) => {
                    let parameters = Parameters::new(offered, &self.function);
                    let scan = scan_value((body, self.n_scanned), self.opening, level, parameters, is_end);
                    let Some(end) = scan.end else {
                        self.n_scanned = body.len();
                        self.level = Some(scan.level);
                        return true;
                    };
                    self.n_scanned = end + PARAMETER_END.len();
                    self.level = None;
                }
                None => {
                    if !self.finds_value(body, offered) {
                        return false;
                    }
                }
            }
        }
    }

    /// Scans up to the next value; returns whether there is one.
    fn finds_value(&mut self, body: &str, offered: &OfferedFunctions) -> bool {
        while let Some(found) = body[self.n_scanned..].find('<') {
            let tag = &body[self.n_scanned + found..];
            self.n_scanned += found + 1;
            if let Some(name) = function_opening(tag).and_then(|opening| TagName::read(&tag[opening.len()..])) {
                self.function = name.name.to_owned();
            } else if let Some(opening) = parameter_opening(tag)
                && let Some(name) =
                    TagName::of_parameter(&tag[opening.len()..], Parameters::new(offered, &self.function))
            {
                self.n_scanned += opening.len() - 1 + name.length;
                self.opening = opening;
                self.level = Some(0);
                return true;
            }
        }
        self.n_scanned = body.len();
        false
    }
}
