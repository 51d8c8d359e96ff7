//! A model's tokens, as grammars see them.

use std::sync::Arc;

use llguidance::toktrie::{INVALID_TOKEN, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::constrain::Fault;

/// Bytes of a token at most: the trie holds 1,024, and what marks control tokens.
const LONGEST_WORD: usize = 1000;
/// Bytes of all tokens at most, each of which can be a node of the trie; it holds four million.
const MOST_BYTES: usize = 4_000_000;
/// What the trie puts before control tokens; a byte that no text has.
const CONTROL_MARK: u8 = TokTrie::SPECIAL_TOKEN_MARKER;

/// What a token adds to a reply.
pub(crate) enum Word<'a> {
    Text(&'a [u8]),
    /// A control token, with its spelling.
    Control(&'a str),
}

/// The tokens of one model.
pub(crate) trait Vocabulary: Send + Sync + 'static {
    /// What each token adds, by id.
    fn words(&self) -> Vec<Word<'_>>;
    /// Tokens that end a reply.
    fn ends(&self) -> &[u32];
    /// The tokens in which the model has learned to read this text, behind other text. `None` where that is not known;
    /// then nothing is ever forced, and the model chooses among all that spells the same.
    fn encode(&self, text: &str) -> Option<Vec<u32>>;
}

/// The tokens in the form that llguidance wants.
pub(super) fn environment(vocabulary: Arc<dyn Vocabulary>) -> Result<TokEnv, Fault> {
    let bytes = |word: Word<'_>| match word {
        Word::Control(spelling) => [&[CONTROL_MARK], spelling.as_bytes()].concat(),
        Word::Text(bytes) if bytes.first() == Some(&CONTROL_MARK) => Vec::new(),
        Word::Text(bytes) => bytes.to_vec(),
    };
    // A token without bytes is one that no grammar allows.
    let usable = |bytes: Vec<u8>| if bytes.len() <= LONGEST_WORD { bytes } else { Vec::new() };
    let words: Vec<Vec<u8>> = vocabulary.words().into_iter().map(bytes).map(usable).collect();
    let n_bytes: usize = words.iter().map(Vec::len).sum();
    let n_words = u32::try_from(words.len()).ok().filter(|_| n_bytes <= MOST_BYTES);
    let n_words = n_words.ok_or_else(|| Fault::new("the vocabulary is too large for constraints"))?;
    let ends = vocabulary.ends().to_vec();
    let trie = TokTrie::from(&TokRxInfo::new(n_words, ends.first().copied().unwrap_or(INVALID_TOKEN)), &words);
    let trie = if ends.is_empty() { trie } else { trie.with_eos_tokens(&ends) };
    let is_canonical = PROBES.iter().all(|probe| {
        let ids = vocabulary.encode(probe);
        ids.is_some_and(|ids| trie.decode(&ids) == probe.as_bytes())
    });
    Ok(Arc::new(Environment { vocabulary, trie, is_canonical }))
}

/// Texts that must come out of the tokens they are encoded to, or the tokenizer adds something of its own.
const PROBES: [&str; 4] = ["name", "(city=\"", ", days=", "\"a\": [1, 2]"];

struct Environment {
    vocabulary: Arc<dyn Vocabulary>,
    trie: TokTrie,
    is_canonical: bool,
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let encode = |text: &str| {
            let ids = self.vocabulary.encode(text);
            ids.unwrap_or_else(|| self.trie.greedy_tokenize(text.as_bytes()))
        };
        self.trie.tokenize_with_greedy_fallback(bytes, encode)
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.is_canonical
    }
}
