//! The control tokens of Whisper's vocabularies.

use crate::checkpoint::invalid::invalid;
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

/// Tokens of the smallest vocabulary with languages.
const MULTILINGUAL: usize = 51_865;
/// Text tokens, the end and the start, the languages of the first models, two tasks, four control tokens, and times.
const TOKENS_BUT_LANGUAGES: usize = 51_766;

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
    /// The tokens of the published vocabularies, which differ in the number of languages.
    pub(super) fn of_vocabulary(n_vocabulary: usize) -> Self {
        let is_multilingual = MULTILINGUAL <= n_vocabulary;
        let n_languages = if is_multilingual { n_vocabulary - TOKENS_BUT_LANGUAGES } else { LANGUAGES.len() - 1 };
        let start = 50_257 + u32::from(is_multilingual);
        let n_languages = n_languages.min(LANGUAGES.len());
        let languages = LANGUAGES.iter().take(n_languages).zip(start + 1..).map(|(code, id)| ((*code).to_owned(), id));
        let no_times = start + n_languages as u32 + 6;
        Self {
            end: start - 1,
            start,
            translate: 0,
            transcribe: 0,
            previous: 0,
            no_speech: 0,
            no_times: 0,
            languages: if is_multilingual { languages.collect() } else { Vec::new() },
            suppressed: None,
            suppressed_first: None,
            latest_start: 50,
        }
        .with_no_times(no_times)
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
