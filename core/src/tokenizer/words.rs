//! How byte-level vocabularies split text into words before merging within each word: the rules for the names in
//! `tokenizer.ggml.pre`.

use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;
use tokenizers::{Error, PreTokenizerWrapper};

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN2: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// As [`QWEN2`], but letters include combining marks.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
pub(super) const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const GPT4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

pub(super) const DIGIT: &str = r"\p{N}";

/// Names that exported files give to rules. Of several names for one rule, the usual one comes first.
pub(super) const NAMES: [&str; 12] = [
    "llama-bpe",
    "lfm2",
    "smaug-bpe",
    "dbrx",
    "qwen2",
    "qwen35",
    "gpt-2",
    "smollm",
    "refact",
    "gpt-4o",
    "tekken",
    "default",
];

/// A rule to split text into words, with related settings.
pub(super) struct WordRule {
    /// Applied in order. The matches of a pattern and the text between them are the input of the next pattern.
    patterns: &'static [&'static str],
    /// Whether a word that is a token as a whole becomes that token, even if no merges lead to it.
    pub(super) ignores_merges: bool,
    /// Whether prompts begin with BOS if the file does not say.
    pub(super) adds_bos: bool,
    /// Whether text is first normalised to Unicode NFC.
    pub(super) composes: bool,
}

impl WordRule {
    const fn new(patterns: &'static [&'static str]) -> Self {
        Self { patterns, ignores_merges: false, adds_bos: false, composes: false }
    }

    /// The rule with this name; `None` for an unknown name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let llama3 = Self { ignores_merges: true, adds_bos: true, ..Self::new(&[LLAMA3]) };
        Some(match name {
            "lfm2" | "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "pixtral" => llama3,
            // Used by the files of SmolLM3, Granite 4 and Phi 4.
            "smaug-bpe" | "dbrx" => Self::new(&[LLAMA3]),
            "qwen2" | "deepseek-r1-qwen" => Self { composes: true, ..Self::new(&[QWEN2]) },
            "qwen35" => Self { composes: true, ..Self::new(&[QWEN35]) },
            "gpt-2" => Self::new(&[GPT2]),
            "smollm" | "refact" | "starcoder" => Self::new(&[DIGIT, GPT2]), // `refact`: Granite 3
            "gpt-4o" | "llama4" => Self::new(&[GPT4O]),                     // Phi 4 mini
            "tekken" => Self { ignores_merges: true, adds_bos: true, ..Self::new(&[TEKKEN]) },
            "default" => Self::new(&[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"]),
            _ => return None,
        })
    }

    /// Whether the rule has these patterns and settings.
    pub(super) fn is(&self, patterns: &[String], ignores_merges: bool, composes: bool) -> bool {
        self.patterns == patterns && (self.ignores_merges, self.composes) == (ignores_merges, composes)
    }

    /// Splits text into words, and converts their bytes to the symbols of the vocabulary.
    pub(super) fn splitter(&self) -> Result<Sequence, Error> {
        let split = |pattern: &&str| {
            let pattern = SplitPattern::Regex((*pattern).to_owned());
            Split::new(pattern, SplitDelimiterBehavior::Isolated, false).map(PreTokenizerWrapper::Split)
        };
        let mut steps = self.patterns.iter().map(split).collect::<Result<Vec<_>, _>>()?;
        steps.push(PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, false)));
        Ok(Sequence::new(steps))
    }
}
