//! Finds replies whose end only repeats itself: small models fall into such loops and do not leave them.
//!
//! Text is compared, not tokens, because a loop may be cut into tokens in several ways. Nothing distinguishes a loop from a
//! repetition that was asked for except its length, so the limits lie beyond what people ask for: a sentence a hundred times,
//! or a word in three kilobytes. Loops of what programs read, which is repeated more often (elements of an array, rows of a
//! table, code, drawings), have to be longer still.

/// The longest part, in bytes, whose repetition is found.
const MAX_BYTES: usize = 512;

/// When text counts as a loop: after this many bytes and repetitions of one part.
#[derive(Clone, Copy)]
struct LoopLimit {
    bytes: usize,
    repetitions: usize,
}

/// Limits of prose: the first for parts of any length, the second for parts as long as a paragraph.
const OF_PROSE: [LoopLimit; 2] =
    [LoopLimit { bytes: 3 << 10, repetitions: 128 }, LoopLimit { bytes: 8 << 10, repetitions: 12 }];
/// The limit of everything else.
const OF_DATA: LoopLimit = LoopLimit { bytes: 8 << 10, repetitions: 1024 };

/// Follows the text of a reply.
pub(super) struct RepetitionFinder {
    /// The last bytes, from [`MAX_BYTES`] to twice as many once there are enough.
    recent: Vec<u8>,
    /// For each distance from one on, how many of the last bytes are equal to the byte at this distance before them.
    runs: Vec<usize>,
    enclosure: Enclosure,
}

/// The code and the brackets that the end of a text lies in.
#[derive(Default)]
struct Enclosure {
    /// Brackets that are open.
    depth: usize,
    is_in_fence: bool,
    /// Backticks at the beginning of the line, and nothing else so far.
    n_ticks: usize,
    is_line_start: bool,
}

impl RepetitionFinder {
    pub(super) fn new() -> Self {
        let enclosure = Enclosure { is_line_start: true, ..Enclosure::default() };
        Self { recent: Vec::with_capacity(2 * MAX_BYTES), runs: vec![0; MAX_BYTES], enclosure }
    }

    /// Adds text. Returns whether it ends in a loop.
    pub(super) fn push(&mut self, text: &str) -> bool {
        text.bytes().for_each(|byte| self.add(byte));
        self.is_in_loop()
    }

    /// Forgets the text: what follows is not compared with it.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    fn add(&mut self, byte: u8) {
        for (run, before) in self.runs.iter_mut().zip(self.recent.iter().rev()) {
            *run = if *before == byte { *run + 1 } else { 0 };
        }
        if self.recent.len() == 2 * MAX_BYTES {
            self.recent.drain(..MAX_BYTES);
        }
        self.recent.push(byte);
        self.enclosure.add(byte);
    }

    fn is_in_loop(&self) -> bool {
        // The first one is the shortest: others are its multiples.
        let repeats = |&(run, length): &(usize, usize)| {
            let n_bytes = run + length;
            OF_PROSE.iter().any(|limit| limit.is_met(n_bytes, length)) || OF_DATA.is_met(n_bytes, length)
        };
        let Some((run, length)) = self.runs.iter().copied().zip(1..).find(repeats) else { return false };
        let part = &self.recent[self.recent.len() - length..];
        let is_data = self.enclosure.is_open() || !is_prose(part);
        !is_data || OF_DATA.is_met(run + length, length)
    }
}

impl LoopLimit {
    fn is_met(self, n_bytes: usize, length: usize) -> bool {
        self.bytes <= n_bytes && self.repetitions <= n_bytes / length
    }
}

impl Enclosure {
    fn is_open(&self) -> bool {
        self.is_in_fence || 0 < self.depth
    }

    fn add(&mut self, byte: u8) {
        match byte {
            b'`' if self.is_line_start => {
                self.n_ticks += 1;
                self.is_in_fence ^= self.n_ticks == 3;
                return;
            }
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.is_line_start = byte == b'\n' || self.is_line_start && byte == b' ';
        self.n_ticks = 0;
    }
}

/// Whether a part of a text consists of words, rather than of code, data or a drawing.
fn is_prose(part: &[u8]) -> bool {
    let is_of_data = |byte: &u8| b"[]{}<>|=;#\\_/".contains(byte);
    let has_letters = part.iter().any(|byte| byte.is_ascii_alphabetic() || !byte.is_ascii());
    has_letters && !part.iter().any(is_of_data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of a text at which it counts as a loop, however it is cut into pieces.
    fn found_at(text: &str) -> Option<usize> {
        let mut finder = RepetitionFinder::new();
        let mut n_bytes = 0;
        let by_character = text.chars().find_map(|character| {
            n_bytes += character.len_utf8();
            finder.push(character.encode_utf8(&mut [0; 4])).then_some(n_bytes)
        });
        assert_eq!(RepetitionFinder::new().push(text), found_in_whole(text), "{}", &text[..text.len().min(40)]);
        by_character
    }

    /// Whether the text ends in a loop, by comparing every part with what precedes it.
    fn found_in_whole(text: &str) -> bool {
        let bytes = text.as_bytes();
        let longest = |length: usize| {
            let run = (length..bytes.len()).rev().take_while(|at| bytes[*at] == bytes[*at - length]).count();
            (run, length)
        };
        let all: Vec<(usize, usize)> = (1..=MAX_BYTES.min(bytes.len())).map(longest).collect();
        let is_met = |limit: &LoopLimit| all.iter().any(|(run, length)| limit.is_met(run + length, *length));
        let mut enclosure = Enclosure { is_line_start: true, ..Enclosure::default() };
        bytes.iter().for_each(|byte| enclosure.add(*byte));
        match all.iter().find(|(run, length)| OF_PROSE.iter().any(|limit| limit.is_met(run + length, *length))) {
            Some((_, length)) if is_prose(&bytes[bytes.len() - length..]) && !enclosure.is_open() => true,
            _ => is_met(&OF_DATA),
        }
    }

    #[test]
    fn loops_of_words_sentences_and_paragraphs_are_found() {
        assert_eq!(found_at(&"sunny ".repeat(2000)), Some(3 << 10));
        assert_eq!(found_at(&"null ".repeat(2000)), Some(3 << 10));
        let sentence = "I can help you with that, if you tell me more. ";
        assert_eq!(found_at(&sentence.repeat(2000)), Some(128 * sentence.len()));
        let paragraph =
            "A paragraph of some length, which a model writes again and again without an end. ".repeat(5) + "\n";
        let found = found_at(&paragraph.repeat(100)).unwrap();
        assert!((8 << 10..(8 << 10) + paragraph.len()).contains(&found), "{found}");
        // After other text, which is repeated as well.
        let after = "Yes. ".repeat(100) + &"太陽".repeat(3000);
        assert_eq!(found_at(&after), Some("Yes. ".len() * 100 + (3 << 10)));
        assert!(found_at("[0, 0").is_none() && found_at(&("[".to_owned() + &"0, ".repeat(5000))).is_some());
    }

    #[test]
    fn what_people_ask_for_is_no_loop() {
        let art = format!("{}\n", "MWMWMW  ".repeat(10)).repeat(40);
        let song =
            format!("{}We sing it again, and again, and again.\n", "La la la la la la la.\n".repeat(12)).repeat(8);
        let table = format!("| a | b |\n|---|---|\n{}", "| yes | no |\n".repeat(600));
        for text in [
            format!("[{}0]", "0, ".repeat(500)),
            format!("[{}]", "{\"name\": \"Ada\", \"age\": 36}, ".repeat(500)),
            "{\"name\": \"Ada\"}\n".repeat(500),
            "word, ".repeat(500),
            "I will not talk in class.\n".repeat(100),
            "All work and no play makes Jack a dull boy.\n".repeat(100),
            format!("```\n{}```\n", "print(\"hello\")\n".repeat(500)),
            "x = x + 1\n".repeat(500),
            "<li>item</li>\n".repeat(500),
            "INSERT INTO t VALUES (1);\n".repeat(300),
            format!("{}\n", "#".repeat(80)).repeat(60),
            "-".repeat(5000),
            " ".repeat(5000),
            art,
            song,
            table,
        ] {
            assert_eq!(found_at(&text), None, "{}", &text[..40]);
        }
    }

    #[test]
    fn a_text_that_changes_is_no_loop() {
        let counted: String = (0..2000).map(|i| format!("Bottle {i} of beer on the wall. ")).collect();
        assert_eq!(found_at(&counted), None);
        let mut finder = RepetitionFinder::new();
        for _ in 0..10 {
            assert!(!finder.push(&"sunny ".repeat(500)));
            finder.clear();
        }
    }

    #[test]
    fn code_in_fences_and_brackets_is_recognised() {
        let ends = |text: &str| {
            let mut enclosure = Enclosure { is_line_start: true, ..Enclosure::default() };
            text.bytes().for_each(|byte| enclosure.add(byte));
            enclosure.is_open()
        };
        for open in ["```", "```rust\nlet", "a\n  ```\ncode", "a [b", "{{}", "````md\nx"] {
            assert!(ends(open), "{open}");
        }
        for closed in ["", "a `b` c", "```\nx\n```\n", "[a] {b}", "a ] b", "say ``` here"] {
            assert!(!ends(closed), "{closed}");
        }
    }
}
