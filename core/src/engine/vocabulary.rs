//! The tokens of a model's tokenizer, as grammars need them.

use crate::constrain::{Vocabulary, Word};
use crate::tokenizer::{ModelTokenizer, TokenText};

impl Vocabulary for ModelTokenizer {
    fn words(&self) -> Vec<Word<'_>> {
        let words = self.texts().iter().map(|text| match text {
            TokenText::Bytes(bytes) => Word::Text(bytes),
            TokenText::Control(spelling) => Word::Control(spelling),
        });
        words.collect()
    }

    fn ends(&self) -> &[u32] {
        self.end_ids()
    }

    fn encode(&self, text: &str) -> Option<Vec<u32>> {
        self.encode_continuation(text)
    }
}
