//! The control tokens of Whisper's vocabularies.

use crate::checkpoint::invalid::invalid;
use crate::checkpoint::whisper::architecture::WhisperArchitecture;
use crate::error::Result;

/// The languages in the order of their tokens. The first models had all but the last.
const LANGUAGES: [&str; 100] = [
    "en", "zh", "de", "es", "ru", "ko", "fr", "ja", "pt", "tr", "pl", "ca", "nl", "ar", "sv", "it", "id", "hi", "fi",
    "vi", "he", "uk", "el", "ms", "cs", "ro", "da", "hu", "ta", "no", "th", "ur", "hr", "bg", "lt", "la", "mi", "ml",
    "cy", "sk", "te", "fa", "lv", "bn", "sr", "az", "sl", "kn", "et", "mk", "br", "eu", "is", "hy", "ne", "mn", "bs",
    "kk", "sq", "sw", "gl", "mr", "pa", "si", "km", "sn", "yo", "so", "af", "oc", "ka", "be", "tg", "sd", "gu", "am",
    "yi", "lo", "uz", "fo", "ht", "ps", "tk", "nn", "mt", "sa", "lb", "my", "bo", "tl", "mg", "as", "tt", "haw", "ln",
    "ha", "ba", "jw", "su", "yue",
];

/// Tokens of the vocabularies for English only, and of those for many languages: text and control tokens.
const ENGLISH: (u32, usize) = (50_256, 51_864);
const MULTILINGUAL: u32 = 50_257;
/// The end, the start, two tasks, and four further control tokens.
const CONTROL_TOKENS: usize = 8;

/// The control tokens of a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WhisperTokens {
    /// Ends the text.
    pub(crate) end: u32,
    /// Begins a transcript.
    pub(crate) start: u32,
    pub(crate) translate: u32,
    pub(crate) transcribe: u32,
    /// Begins the text before this window.
    pub(crate) previous: u32,
    /// Says that nobody speaks.
    pub(crate) no_speech: u32,
    /// Says that the text has no times.
    pub(crate) no_times: u32,
    /// The codes of languages, with their tokens; empty for a model of English only.
    pub(crate) languages: Vec<(String, u32)>,
    /// Tokens that are never written, if the files name them.
    pub(crate) suppressed: Option<Vec<u32>>,
    /// Tokens that are never written first.
    pub(crate) suppressed_first: Option<Vec<u32>>,
    /// The latest time at which the text may begin, in steps.
    pub(crate) latest_start: usize,
}

impl WhisperTokens {
    /// The tokens of published vocabularies: after the text come the end, the start, languages, control tokens and times.
    /// `n_text` are the tokens of text, if the files say so.
    pub(super) fn of_vocabulary(n_text: Option<u32>, architecture: &WhisperArchitecture) -> Self {
        let n_vocabulary = architecture.n_vocabulary;
        let is_english = n_vocabulary == ENGLISH.1;
        let end = n_text.unwrap_or(if is_english { ENGLISH.0 } else { MULTILINGUAL });
        let start = end.saturating_add(1);
        let n_others = end as usize + CONTROL_TOKENS + architecture.n_sound_positions + 1;
        let n_languages = n_vocabulary.saturating_sub(n_others).min(LANGUAGES.len());
        let languages = LANGUAGES.iter().take(n_languages).zip(start.saturating_add(1)..);
        let languages = languages.map(|(code, id)| ((*code).to_owned(), id));
        Self {
            end,
            start,
            translate: 0,
            transcribe: 0,
            previous: 0,
            no_speech: 0,
            no_times: 0,
            languages: if is_english { Vec::new() } else { languages.collect() },
            suppressed: None,
            suppressed_first: None,
            latest_start: 50,
        }
        .with_no_times(start.saturating_add(n_languages as u32 + 6)) // no more than 100 languages
    }

    /// The control tokens lie before the one that says that there are no times.
    pub(super) fn with_no_times(self, no_times: u32) -> Self {
        let before = |n: u32| no_times.saturating_sub(n);
        Self {
            translate: before(5),
            transcribe: before(4),
            previous: before(2),
            no_speech: before(1),
            no_times,
            ..self
        }
    }

    /// The token of the first time, 0 s. Times have the last tokens.
    pub(crate) fn first_time(&self) -> u32 {
        self.no_times + 1
    }

    pub(crate) fn is_time(&self, token: u32) -> bool {
        self.no_times < token
    }

    /// Refuses tokens outside the vocabulary.
    pub(super) fn check(&self, n_vocabulary: usize) -> Result<()> {
        let named = [
            ("eos_token_id", self.end),
            ("decoder_start_token_id", self.start),
            ("the task translate", self.translate),
            ("the task transcribe", self.transcribe),
            ("prev_sot_token_id", self.previous),
            // At least the time 0 must exist.
            ("no_timestamps_token_id", self.no_times.saturating_add(1)),
        ];
        let listed = [("suppress_tokens", &self.suppressed), ("begin_suppress_tokens", &self.suppressed_first)];
        let listed = listed.iter().flat_map(|(name, ids)| ids.iter().flatten().map(|id| (*name, *id)));
        let languages = self.languages.iter().map(|(_, id)| ("lang_to_id", *id));
        match named.into_iter().chain(listed).chain(languages).find(|(_, id)| n_vocabulary <= *id as usize) {
            Some((name, id)) => Err(invalid(format!("{name} must name tokens below {n_vocabulary}, found {id}"))),
            None => Ok(()),
        }
    }
}
