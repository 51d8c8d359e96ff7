//! Finds stop sequences, which may arrive in pieces.

/// Finds the first of several sequences.
pub(crate) struct StopFinder {
    sequences: Vec<String>,
    /// Text that may begin a sequence; once one was found, all text from it on.
    held: String,
    /// Index of the sequence that was found.
    found: Option<usize>,
}

impl StopFinder {
    pub(crate) fn new(sequences: Vec<String>) -> Self {
        Self { sequences, held: String::new(), found: None }
    }

    /// Returns the text that is certainly not part of a stop sequence: none once a sequence was found.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        if self.sequences.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if self.found.is_some() {
            return String::new();
        }
        // The sequence that ends first is found first, however the text is cut into pieces.
        let found = self.sequences.iter().enumerate().filter_map(|(i, sequence)| {
            let at = self.held.find(sequence)?;
            Some((at + sequence.len(), at, i))
        });
        let kept_from = match found.min() {
            Some((_, at, sequence)) => {
                self.found = Some(sequence);
                at
            }
            None => {
                let keep = self.sequences.iter().map(|sequence| overlap(&self.held, sequence)).max().unwrap_or(0);
                self.held.len() - keep
            }
        };
        let kept = self.held.split_off(kept_from);
        std::mem::replace(&mut self.held, kept)
    }

    /// The sequence that was found: of several, the one that ends first, and of those the longest.
    pub(crate) fn found(&self) -> Option<&str> {
        self.sequences.get(self.found?).map(String::as_str)
    }

    /// Bytes that were pushed and not returned.
    pub(crate) fn n_held(&self) -> usize {
        self.held.len()
    }

    /// Returns the text that was held back.
    pub(crate) fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Length in bytes of the longest suffix of `text` that is a proper prefix of `sequence`.
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
    fn check(pieces: &[&str], expect: &str, stopped: Option<&str>) {
        let mut finder = StopFinder::new(["STOP", "né👍", "STO", "née23", "ée2"].map(str::to_owned).to_vec());
        let mut text: String = pieces.iter().map(|piece| finder.push(piece)).collect();
        let n_pushed: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert_eq!(text.len() + finder.n_held(), n_pushed);
        if finder.found().is_none() {
            text += &finder.finish();
        }
        assert_eq!((text.as_str(), finder.found()), (expect, stopped));
    }

    #[test]
    fn a_stop_is_found_however_it_is_split() {
        check(&["a STOP b"], "a ", Some("STO"));
        check(&["a S", "TO", "P b"], "a ", Some("STO"));
        check(&["1 né", "e2 b"], "1 n", Some("ée2"));
        check(&["1 née2 b"], "1 n", Some("ée2"));
        check(&["1 née23 b"], "1 n", Some("ée2"));
        check(&["a né", "👍", "STOP"], "a ", Some("né👍"));
    }

    #[test]
    fn a_partial_sequence_is_returned() {
        check(&["a ST", "x"], "a STx", None);
        check(&["a né"], "a né", None);
    }
}
