//! Ends a reply at a stop sequence, which may arrive in pieces.

/// Looks for the first of several texts.
pub(crate) struct StopFinder {
    sequences: Vec<String>,
    held: String,
}

impl StopFinder {
    pub(crate) fn new(sequences: Vec<String>) -> Self {
        Self { sequences, held: String::new() }
    }

    /// The text that is certainly no part of a stop sequence, and whether a whole one was found behind it.
    pub(crate) fn push(&mut self, piece: &str) -> (String, bool) {
        if self.sequences.is_empty() {
            return (piece.to_owned(), false);
        }
        self.held.push_str(piece);
        if let Some(at) = self.sequences.iter().filter_map(|sequence| self.held.find(sequence.as_str())).min() {
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), true);
        }
        let keep = self.sequences.iter().map(|sequence| overlap(&self.held, sequence)).max().unwrap_or(0);
        let kept = self.held.split_off(self.held.len() - keep);
        (std::mem::replace(&mut self.held, kept), false)
    }

    /// Text that was held back in vain.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Bytes of the longest end of `text` that begins `sequence`, short of all of it.
fn overlap(text: &str, sequence: &str) -> usize {
    let longest = text.len().min(sequence.len() - 1);
    let begins = |length: &usize| {
        sequence.is_char_boundary(*length) && text.as_bytes().ends_with(&sequence.as_bytes()[..*length])
    };
    (1..=longest).rev().find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expect: &str, stopped: bool) {
        let mut finder = StopFinder::new(vec!["STOP".into(), "né👍".into()]);
        let (mut text, mut has_stopped) = (String::new(), false);
        for piece in pieces {
            let (safe, found) = finder.push(piece);
            text += &safe;
            has_stopped |= found;
            if found {
                break;
            }
        }
        text += &finder.finish();
        assert_eq!((text.as_str(), has_stopped), (expect, stopped));
    }

    #[test]
    fn a_stop_is_found_however_it_is_split() {
        check(&["a STOP b"], "a ", true);
        check(&["a S", "TO", "P b"], "a ", true);
        check(&["a né", "👍"], "a ", true);
    }

    #[test]
    fn a_false_start_is_given_back() {
        check(&["a ST", "x"], "a STx", false);
        check(&["a né"], "a né", false);
    }
}
