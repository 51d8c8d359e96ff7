//! The tokens of a model, as grammars need them.

use std::sync::Arc;

use llguidance::toktrie::{INVALID_TOKEN, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

use crate::constrain::fault::GrammarFault;

/// Size limit of a token in bytes. The trie supports 1,024, including the mark of control tokens.
const MAX_WORD: usize = 1000;
/// Size limit of all tokens in bytes. Each byte can be a node of the trie, which supports four million.
const MAX_BYTES: usize = 4_000_000;
/// The trie's prefix of control tokens; a byte that does not occur in UTF-8 text.
const CONTROL_MARK: u8 = TokTrie::SPECIAL_TOKEN_MARKER;

/// What a token adds to a reply.
pub(crate) enum Word<'a> {
    Text(&'a [u8]),
    /// A control token, with its spelling.
    Control(&'a str),
}

/// The tokens of one model.
pub(crate) trait Vocabulary: Send + Sync + 'static {
    /// What each token adds to a reply, by id.
    fn words(&self) -> Vec<Word<'_>>;
    /// The tokens that end a reply.
    fn ends(&self) -> &[u32];
    /// The token ids of text that follows other text, as in the model's training. `None` if they are not known. Then no token
    /// is ever forced, and the model chooses among all tokens that spell the same text.
    fn encode(&self, text: &str) -> Option<Vec<u32>>;
}

/// Converts the tokens to the form that llguidance requires.
pub(super) fn environment(vocabulary: Arc<dyn Vocabulary>) -> Result<TokEnv, GrammarFault> {
    let bytes = |word: Word<'_>| match word {
        Word::Control(spelling) => [&[CONTROL_MARK], spelling.as_bytes()].concat(),
        Word::Text(bytes) if bytes.first() == Some(&CONTROL_MARK) => Vec::new(),
        Word::Text(bytes) => bytes.to_vec(),
    };
    // No grammar allows a token without bytes.
    let usable = |bytes: Vec<u8>| if bytes.len() <= MAX_WORD { bytes } else { Vec::new() };
    let words: Vec<Vec<u8>> = vocabulary.words().into_iter().map(bytes).map(usable).collect();
    let n_bytes: usize = words.iter().map(Vec::len).sum();
    let n_words = u32::try_from(words.len()).ok().filter(|_| n_bytes <= MAX_BYTES);
    let n_words = n_words.ok_or_else(|| GrammarFault::new("the vocabulary is too large for constraints"))?;
    let ends = vocabulary.ends().to_vec();
    let trie = TokTrie::from(&TokRxInfo::new(n_words, ends.first().copied().unwrap_or(INVALID_TOKEN)), &words);
    let trie = if ends.is_empty() { trie } else { trie.with_eos_tokens(&ends) };
    let is_canonical = PROBES.iter().all(|probe| {
        let ids = vocabulary.encode(probe);
        ids.is_some_and(|ids| trie.decode(&ids) == probe.as_bytes())
    });
    Ok(Arc::new(Environment { vocabulary, trie, is_canonical }))
}

/// Texts to test whether decoding restores the encoded text. If not, the tokenizer adds or changes text.
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
