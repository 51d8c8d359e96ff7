//! Texts read aloud.

use crate::engine::ResponseStream;
use crate::error::{ErrorKind, Result, SdkError};
use crate::message::ChatMessage;
use crate::options::{GenerationOptions, SpeechMode, SpeechVoice};
use crate::runner::ModelRunner;

impl ModelRunner {
    /// Reads a text aloud. The reply's [`AudioSample`](crate::MessageResponse::AudioSample) events have the sound; text that the
    /// model writes beside it is not part of what is read. Tokens of text are the most probable ones, unless the options say
    /// otherwise. A reply can end without sound: what a model writes is up to it.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedContent`] if the model does not speak.
    ///
    /// ```no_run
    /// use causerie::{GenerationOptions, MessageResponse, ModelRunner, SoundFileWriter, SoundFormat, SpeechVoice};
    ///
    /// let runner = ModelRunner::load("LFM2.5-Audio-1.5B-Q8_0.gguf")?;
    /// let mut writer = SoundFileWriter::new(SoundFormat::Wav, 24_000);
    /// let mut file = Vec::new();
    /// for event in runner.speak("Good morning!", SpeechVoice::UkMale, GenerationOptions::default())? {
    ///     if let MessageResponse::AudioSample { samples, .. } = event? {
    ///         file.extend(writer.push(&samples));
    ///     }
    /// }
    /// file.extend(writer.finish());
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn speak(&self, text: &str, voice: SpeechVoice, options: GenerationOptions) -> Result<ResponseStream> {
        if !self.info().supports_speech {
            let message = "the model does not speak: it has no parts that make sound, or they were not found beside it";
            return Err(SdkError::new(ErrorKind::UnsupportedContent, message));
        }
        let options = GenerationOptions {
            temperature: options.temperature.or(Some(0.0)),
            speech_mode: SpeechMode::Sequential,
            function_call_parser: None,
            ..options
        };
        Ok(self.create_conversation(voice.system_prompt()).generate_response(ChatMessage::user(text), options))
    }
}
