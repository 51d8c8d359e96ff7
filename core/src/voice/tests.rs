//! Conversations with a tiny model with speech in and out.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bundle::{self, BundleParts};
use crate::conversation::{Conversation, FunctionHandlers};
use crate::engine::ResponseStream;
use crate::error::ErrorKind;
use crate::function::SdkFunction;
use crate::history::{messages_from_json, messages_to_json};
use crate::info::ModelInfo;
use crate::media::sound::{Sound, SoundOpening, SpokenSound};
use crate::message::{ChatMessage, ChatMessageContent, Role};
use crate::model::speech::testing::{depthformer, mimi};
use crate::options::{CacheType, GenerationOptions, LoadOptions, SpeechMode, ToolChoice};
use crate::response::{Completion, FinishReason, MessageResponse};
use crate::runner::ModelRunner;
use crate::voice::VoiceFiles;
use crate::weights::testing::TinyFolder;

const INTERLEAVED: &str = "Respond with interleaved text and audio.";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

fn model() -> String {
    fixtures().join("models/lfm2a-speech/lfm2a-speech-f16.gguf").to_str().unwrap().to_owned()
}

fn load() -> ModelRunner {
    let options = LoadOptions { context_size: Some(2048), cache_type: CacheType::F32, ..Default::default() };
    ModelRunner::load_with(model(), options).unwrap()
}

fn spoken_question() -> ChatMessage {
    let file = std::fs::read(fixtures().join("sounds/short.wav")).unwrap();
    ChatMessage { content: vec![ChatMessageContent::Audio(file)], ..ChatMessage::user("") }
}

fn options(mode: SpeechMode) -> GenerationOptions {
    GenerationOptions {
        temperature: Some(0.0),
        max_tokens: Some(40),
        seed: Some(1),
        speech_mode: mode,
        speech_temperature: Some(0.0),
        ..Default::default()
    }
}

/// The completion of a reply, with its text and its samples as they came.
fn reply(conversation: &Conversation, question: ChatMessage, mode: SpeechMode) -> (Completion, String, Vec<f32>) {
    let (mut text, mut samples) = (String::new(), Vec::new());
    for event in conversation.generate_response(question, options(mode)) {
        match event.unwrap() {
            MessageResponse::Chunk(chunk) => text.push_str(&chunk),
            MessageResponse::AudioSample { samples: next, sample_rate } => {
                assert_eq!(sample_rate, 24_000);
                samples.extend(next);
            }
            MessageResponse::Complete(completion) => return (*completion, text, samples),
            _ => {}
        }
    }
    panic!("the reply must end");
}

/// The sound of a message, one file after the other.
fn sound_of(message: &ChatMessage) -> Vec<f32> {
    let files = message.content.iter().filter_map(|part| match part {
        ChatMessageContent::Audio(file) => Some(Sound::read(file).unwrap()),
        _ => None,
    });
    files.flat_map(|sound| sound.samples().to_vec()).collect()
}

#[test]
fn a_model_speaks_if_its_vocoder_and_tokenizer_are_beside_it() {
    let info = ModelInfo::read(model()).unwrap();
    assert!(info.supports_speech && info.supports_audio && info.problems.is_empty(), "{:?}", info.problems);
    assert!(load().info().supports_speech);
    let deaf = fixtures().join("models/lfm2-f32.gguf");
    assert!(!ModelInfo::read(deaf.to_str().unwrap()).unwrap().supports_speech);
}

#[test]
fn a_spoken_question_gets_an_answer_in_words_and_sound() {
    let conversation = load().create_conversation(INTERLEAVED);
    let (completion, text, samples) = reply(&conversation, spoken_question(), SpeechMode::Auto);
    let message = &completion.full_message;
    assert!(!text.is_empty() && message.text() == text);
    assert!(matches!(message.content[..2], [ChatMessageContent::Text(_), ChatMessageContent::Audio(_)]));
    let kept = sound_of(message);
    assert!(!samples.is_empty() && samples.len() == kept.len() && samples.len().is_multiple_of(1920));
    // The file has samples of 16 bits.
    let clipped = samples.iter().map(|sample| sample.clamp(-1.0, 1.0));
    assert!(clipped.zip(kept).all(|(sample, kept)| (sample - kept).abs() < 1e-4));
}

#[test]
fn a_spoken_conversation_goes_on_from_the_cache_and_from_its_history_with_the_same_reply() {
    let conversation = load().create_conversation(INTERLEAVED);
    let (first, ..) = reply(&conversation, spoken_question(), SpeechMode::Auto);
    let history = messages_to_json(&conversation.history());
    let (second, text, samples) = reply(&conversation, ChatMessage::user("Why?"), SpeechMode::Auto);
    // Words of a random model are not always spelled with the tokens that it wrote, so the prompt may part from the reply.
    assert!(first.stats.prompt_tokens <= second.stats.cached_prompt_tokens);
    assert!(first.stats.audio_tokens + 6 < second.stats.audio_tokens);
    let again = load().create_conversation_from_history(messages_from_json(&history).unwrap());
    let (_, text_again, samples_again) = reply(&again, ChatMessage::user("Why?"), SpeechMode::Auto);
    assert_eq!((text, samples), (text_again, samples_again));
}

#[test]
fn without_speech_the_reply_is_text() {
    let conversation = load().create_conversation(INTERLEAVED);
    let (completion, text, samples) = reply(&conversation, spoken_question(), SpeechMode::Off);
    assert!(samples.is_empty() && completion.full_message.text() == text);
    assert_eq!(completion.full_message.content.len(), 1);
}

#[test]
fn sound_that_the_model_has_not_spoken_is_refused_in_its_own_messages() {
    let answer = ChatMessage { role: Role::Assistant, ..spoken_question() };
    let conversation = load().create_conversation_from_history(vec![ChatMessage::user("Hi"), answer]);
    let err = conversation
        .generate_response(ChatMessage::user("Why?"), options(SpeechMode::Auto))
        .iter()
        .find_map(|event| event.err())
        .unwrap();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    assert!(err.to_string().contains("messages[1].content[0]"), "{err}");
}

/// The files of the model with speech but its detokenizer, and Mimi under this name instead.
fn first_model(name: &str) -> TinyFolder {
    let files = ["lfm2a-speech-f16.gguf", "mmproj-lfm2a-speech-q8_0.gguf", "vocoder-lfm2a-speech-f16.gguf"];
    let folder = TinyFolder::empty().with_file(name, &mimi(4, 2048, 16));
    files.iter().fold(folder, |folder, file| folder.with_copy(&fixtures().join("models/lfm2a-speech").join(file)))
}

#[test]
fn the_first_model_speaks_with_its_codec_beside_its_gguf_files() {
    let folder = first_model("tokenizer-e351c8d8-checkpoint125.safetensors");
    let model = folder.path().join("lfm2a-speech-f16.gguf");
    let info = ModelInfo::read(model.to_str().unwrap()).unwrap();
    assert!(info.supports_speech && info.missing_speech.is_none() && info.problems.is_empty(), "{:?}", info.problems);
    let options = LoadOptions { context_size: Some(2048), cache_type: CacheType::F32, ..Default::default() };
    let conversation =
        ModelRunner::load_with(model.to_str().unwrap(), options).unwrap().create_conversation(INTERLEAVED);
    let (completion, _, samples) = reply(&conversation, spoken_question(), SpeechMode::Auto);
    assert!(!samples.is_empty() && samples.len().is_multiple_of(1920));
    assert_eq!(sound_of(&completion.full_message).len(), samples.len());
    // A bundle keeps the codec.
    let made = folder.path().join("made.bundle");
    bundle::make(model.to_str().unwrap(), &BundleParts::default(), &made, |_| ControlFlow::Continue(())).unwrap();
    assert!(ModelInfo::read(made.to_str().unwrap()).unwrap().supports_speech);
}

#[test]
fn the_first_model_speaks_with_its_codec_in_its_folder() {
    let folder = TinyFolder::new("{}", &depthformer());
    let missing = crate::voice::find(&folder.open(), None, None, None).unwrap();
    assert!(matches!(missing, VoiceFiles::Missing(reason) if reason.contains("tokenizer")));
    let folder = folder.with_file("tokenizer-e351c8d8-checkpoint125.safetensors", &mimi(8, 2048, 16));
    assert!(matches!(crate::voice::find(&folder.open(), None, None, None).unwrap(), VoiceFiles::Found(_)));
}

#[test]
fn a_codec_that_is_missing_or_broken_is_named() {
    let folder = first_model("other.safetensors");
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let info = ModelInfo::read(path("lfm2a-speech-f16.gguf")).unwrap();
    assert!(!info.supports_speech && info.missing_speech.unwrap().contains("audio_detokenizer"));
    // Named, it is used.
    let options = LoadOptions { audio_tokenizer: Some(path("other.safetensors").into()), ..Default::default() };
    let loaded = ModelRunner::load_with(path("lfm2a-speech-f16.gguf"), options).unwrap();
    assert!(loaded.info().supports_speech && 0 < loaded.info().memory_estimate(16).speech);
    let options = LoadOptions { audio_tokenizer: Some(path("lfm2a-speech-f16.gguf").into()), ..Default::default() };
    let err = ModelRunner::load_with(path("lfm2a-speech-f16.gguf"), options).err().unwrap();
    assert_eq!(err.kind(), ErrorKind::ModelLoad);
    let mut tensors = mimi(4, 2048, 16);
    tensors.retain(|(name, ..)| name != "quantizer.rvq_first.output_proj.weight");
    let folder = first_model("tokenizer-broken.safetensors").with_file("tokenizer-broken.safetensors", &tensors);
    let model = folder.path().join("lfm2a-speech-f16.gguf");
    let missing = ModelInfo::read(model.to_str().unwrap()).unwrap().missing_speech.unwrap();
    assert!(missing.contains("tokenizer-broken") && missing.contains("rvq_first.output_proj"), "{missing}");
}

fn load_marked() -> ModelRunner {
    let model = fixtures().join("models/lfm3a-speech/lfm3a-speech-q8_0.gguf");
    let options = LoadOptions { context_size: Some(2048), cache_type: CacheType::F32, ..Default::default() };
    ModelRunner::load_with(model.to_str().unwrap(), options).unwrap()
}

/// The openings of the parts of a message: of texts, nothing.
fn openings(message: &ChatMessage) -> Vec<Option<SoundOpening>> {
    let opening = |part: &ChatMessageContent| match part {
        ChatMessageContent::Audio(file) => Some(SpokenSound::frames_of(file).unwrap().opening),
        _ => None,
    };
    message.content.iter().map(opening).collect()
}

#[test]
fn a_model_whose_projector_has_all_parts_of_speech_hears_and_speaks() {
    let runner = load_marked();
    let info = runner.info();
    assert!(info.supports_audio && info.supports_speech, "{:?}", info.problems);
    assert!(info.unused_tensors.is_empty() && info.missing_speech.is_none(), "{:?}", info.unused_tensors);
    let memory = info.memory_estimate(16);
    assert!(0 < memory.hearing && 0 < memory.speech);
    // The prompt ends in the token that begins sound.
    let (completion, _, samples) =
        reply(&runner.create_conversation("Speak."), spoken_question(), SpeechMode::Sequential);
    let message = &completion.full_message;
    assert_eq!(openings(message)[0], Some(SoundOpening::SoundStart));
    assert!(!samples.is_empty() && samples.len() == sound_of(message).len());
    assert!(samples.len().is_multiple_of(1920));
    let (completion, _, samples) = reply(&runner.create_conversation("Speak."), spoken_question(), SpeechMode::Off);
    assert!(samples.is_empty() && openings(&completion.full_message) == [None]);
}

#[test]
fn a_mixed_conversation_goes_on_from_the_cache_and_from_its_history_with_the_same_reply() {
    let conversation = load_marked().create_conversation("Talk.");
    let (first, ..) = reply(&conversation, spoken_question(), SpeechMode::Interleaved);
    assert_eq!(openings(&first.full_message)[..2], [Some(SoundOpening::MixedStart), None]);
    let history = messages_to_json(&conversation.history());
    let (_, text, samples) = reply(&conversation, ChatMessage::user("Why?"), SpeechMode::Sequential);
    let again = load_marked().create_conversation_from_history(messages_from_json(&history).unwrap());
    let (_, text_again, samples_again) = reply(&again, ChatMessage::user("Why?"), SpeechMode::Sequential);
    assert!(!samples.is_empty());
    assert_eq!((text, samples), (text_again, samples_again));
}

/// Asks a question and has the reply stopped once so many samples have come. Returns the completion and the number of samples.
fn stopped(conversation: &Conversation, n_samples: usize, stop: impl Fn(&ResponseStream)) -> (Completion, usize) {
    let options = GenerationOptions { max_tokens: None, ..options(SpeechMode::Auto) };
    let mut stream = conversation.generate_response(spoken_question(), options);
    let mut n_read = 0;
    while let Some(event) = stream.iter().next() {
        match event.unwrap() {
            MessageResponse::AudioSample { samples, .. } => {
                n_read += samples.len();
                if n_samples <= n_read {
                    stop(&stream);
                }
            }
            MessageResponse::Complete(completion) => return (*completion, n_read),
            _ => {}
        }
    }
    panic!("the reply must end");
}

/// Samples of a frame, which has 80 ms.
const FRAME: usize = 1_920;

fn frames(n_frames: u32) -> Duration {
    n_frames * Duration::from_millis(80)
}

#[test]
fn a_cancelled_reply_keeps_the_sound_that_was_generated() {
    let conversation = load().create_conversation(INTERLEAVED);
    let (completion, n_samples) = stopped(&conversation, 3 * FRAME, ResponseStream::cancel);
    let message = &completion.full_message;
    assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    assert_eq!(sound_of(message).len(), n_samples);
    assert!(message.incomplete && 3 * FRAME <= n_samples && n_samples.is_multiple_of(FRAME));
    assert_eq!(conversation.history().last(), Some(message));
}

#[test]
fn an_interrupted_reply_is_cut_to_what_was_played() {
    let conversation = load().create_conversation(INTERLEAVED);
    let (completion, _) = stopped(&conversation, 5 * FRAME, |_| conversation.interrupt(frames(2)));
    let message = &completion.full_message;
    assert_eq!((completion.finish_reason, sound_of(message).len()), (FinishReason::Interrupted, 2 * FRAME));
    assert!(message.incomplete && !message.text().is_empty());
    assert_eq!(conversation.history().last(), Some(message));
    // What was cut is not said again, and the conversation goes on.
    let (next, ..) = reply(&conversation, ChatMessage::user("Why?"), SpeechMode::Auto);
    assert!(completion.stats.prompt_tokens <= next.stats.cached_prompt_tokens);
    assert_eq!(next.stats.audio_tokens, completion.stats.audio_tokens + 2);
}

#[test]
fn a_reply_that_has_ended_is_cut_in_the_history() {
    let conversation = load().create_conversation(INTERLEAVED);
    let (completion, _, samples) = reply(&conversation, spoken_question(), SpeechMode::Auto);
    conversation.interrupt(frames(1000));
    assert_eq!(conversation.history().last(), Some(&completion.full_message), "all of it was heard");
    conversation.interrupt(frames(13) - Duration::from_millis(1));
    let cut = conversation.history().pop().unwrap();
    assert!(13 * FRAME < samples.len() && sound_of(&cut) == sound_of(&completion.full_message)[..13 * FRAME]);
    assert!(cut.incomplete && completion.full_message.text().starts_with(&cut.text()));
    conversation.interrupt(Duration::ZERO);
    assert_eq!(conversation.history().last().map(|message| message.role), Some(Role::User), "nothing was heard");
}

#[test]
fn functions_are_called_in_a_spoken_conversation_as_in_a_written_one() {
    let conversation = load().create_conversation(INTERLEAVED);
    let now = SdkFunction::new("now", "Tell the time.", vec![]);
    let handlers = FunctionHandlers::new().on("now", |_| Ok::<_, String>("noon")).offer([now]);
    let choice = ToolChoice::Required;
    let options = GenerationOptions {
        tool_choice: choice,
        parallel_tool_calls: false,
        stop_after_tool_calls: true,
        ..options(SpeechMode::Auto)
    };
    let (mut calls, mut results, mut n_samples, mut completion) = (Vec::new(), Vec::new(), 0, None);
    for event in conversation.respond_with_functions(spoken_question(), &handlers, options) {
        match event.unwrap() {
            MessageResponse::FunctionCalls(made) => calls.extend(made),
            MessageResponse::FunctionResult(result) => results.push(result.text),
            MessageResponse::AudioSample { samples, .. } => n_samples += samples.len(),
            MessageResponse::Complete(complete) => completion = Some(complete),
            _ => {}
        }
    }
    assert_eq!(calls.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["now"]);
    assert_eq!(results, ["noon"]);
    // The call is in one piece, and after its result the model answers in sound.
    let answer = completion.unwrap().full_message;
    assert!(0 < n_samples && sound_of(&answer).len() == n_samples);
    assert!(sound_of(&conversation.history()[2]).is_empty());
    let roles: Vec<Role> = conversation.history().iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
}
