//! The voices that texts are read aloud in.

/// A voice in which published models read a text aloud: the prompt asks for it.
///
/// ```
/// use causerie::SpeechVoice;
/// assert_eq!(SpeechVoice::named("uk_female"), Some(SpeechVoice::UkFemale));
/// assert_eq!(SpeechVoice::default().name(), "us_female");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpeechVoice {
    /// American English.
    UsMale,
    /// American English.
    #[default]
    UsFemale,
    /// British English.
    UkMale,
    /// British English.
    UkFemale,
}

impl SpeechVoice {
    /// All voices.
    ///
    /// ```
    /// assert_eq!(causerie::SpeechVoice::ALL[0], causerie::SpeechVoice::UsMale);
    /// ```
    pub const ALL: [Self; 4] = [Self::UsMale, Self::UsFemale, Self::UkMale, Self::UkFemale];

    /// The name: `us_male`, `us_female`, `uk_male` or `uk_female`.
    ///
    /// ```
    /// assert_eq!(causerie::SpeechVoice::UsMale.name(), "us_male");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::UsMale => "us_male",
            Self::UsFemale => "us_female",
            Self::UkMale => "uk_male",
            Self::UkFemale => "uk_female",
        }
    }

    /// The voice of a name.
    ///
    /// ```
    /// assert_eq!(causerie::SpeechVoice::named("alloy"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|voice| voice.name() == name)
    }

    /// The system prompt after which LFM2.5-Audio reads the user's message aloud in this voice. It was trained on these four
    /// sentences.
    ///
    /// ```
    /// assert_eq!(causerie::SpeechVoice::UkMale.system_prompt(), "Perform TTS. Use the UK male voice.");
    /// ```
    pub const fn system_prompt(self) -> &'static str {
        match self {
            Self::UsMale => "Perform TTS. Use the US male voice.",
            Self::UsFemale => "Perform TTS. Use the US female voice.",
            Self::UkMale => "Perform TTS. Use the UK male voice.",
            Self::UkFemale => "Perform TTS. Use the UK female voice.",
        }
    }
}
