//! Images in conversations, end to end, over real networks and a source of made-up rows.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use super::Conversation;
use crate::engine::LoadedModel;
use crate::error::{ErrorKind, Result, SdkError};
use crate::info::ModelInfo;
use crate::message::{ChatMessage, ChatMessageContent};
use crate::model::{Compute, Model};
use crate::options::{ContextPolicy, GenerationOptions, LoadOptions};
use crate::position::{ContentDigest, Embedded, EmbeddingJob, EmbeddingSource};
use crate::prompt::{ImageInput, ImageReader, PromptRenderer, Segment};
use crate::response::{Completion, FinishReason, MessageResponse};
use crate::runner::{EngineSettings, ModelRunner};
use crate::tokenizer::{ModelTokenizer, TokenText};
use crate::weights::{TemplateSources, Weights};

/// Rows of most images here: more than a chunk of the prompt.
const N_ROWS: usize = 200;

/// More than some fixtures were made for, which does no harm: their weights are random.
const CONTEXT: usize = 4096;

/// With convolutions or delta nets, whose states cannot be cut, and without.
const FIXTURES: [&str; 3] = ["lfm2", "qwen35", "qwen3"];

/// Reads files such as `200 rows of a cat`.
struct TestReader {
    hidden_size: usize,
    n_computed: Arc<AtomicUsize>,
}

struct TestImage {
    digest: ContentDigest,
    n_rows: u32,
    hidden_size: usize,
    n_computed: Arc<AtomicUsize>,
    /// Whether its rows are never ready.
    is_endless: bool,
}

impl ImageReader for TestReader {
    fn read(&self, file: &[u8]) -> Result<Vec<Segment>> {
        let text = String::from_utf8_lossy(file);
        let n_rows = text.split(' ').next().and_then(|n_rows| n_rows.parse().ok());
        let n_rows =
            n_rows.ok_or_else(|| SdkError::new(ErrorKind::UnsupportedContent, "the image must name its rows"))?;
        Ok(vec![Segment::Embedded(Embedded(Arc::new(TestImage {
            digest: ContentDigest::from_parts(&[file]),
            n_rows,
            hidden_size: self.hidden_size,
            n_computed: Arc::clone(&self.n_computed),
            is_endless: text.contains("endless"),
        })))])
    }
}

impl EmbeddingSource for TestImage {
    fn digest(&self) -> ContentDigest {
        self.digest
    }

    fn n_rows(&self) -> u32 {
        self.n_rows
    }

    fn begin(&self) -> Result<Box<dyn EmbeddingJob>> {
        self.n_computed.fetch_add(1, Ordering::SeqCst);
        let n_left = if self.is_endless { usize::MAX } else { N_PIECES };
        Ok(Box::new(TestJob { n_left, rows: self.rows().into() }))
    }
}

/// Pieces of an image's computation.
const N_PIECES: usize = 3;

struct TestJob {
    n_left: usize,
    rows: Arc<[f32]>,
}

impl EmbeddingJob for TestJob {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        self.n_left -= 1;
        Ok((self.n_left == 0).then(|| Arc::clone(&self.rows)))
    }
}

impl TestImage {
    /// Values between -0.5 and 0.5 that depend on the content.
    fn rows(&self) -> Vec<f32> {
        let seed = self.digest.to_string().bytes().fold(0u32, |seed, byte| seed.wrapping_mul(31) + u32::from(byte));
        let value = |at: u32| ((seed ^ at).wrapping_mul(2_654_435_761) >> 16) as f32 / 65_536.0 - 0.5;
        (0..self.n_rows * self.hidden_size as u32).map(value).collect()
    }
}

/// A runner whose model takes images, and how many of them it has computed.
struct Vision {
    runner: ModelRunner,
    n_computed: Arc<AtomicUsize>,
}

impl Vision {
    fn fixture(name: &str) -> Self {
        Self::load(&format!("../tests/fixtures/models/{name}-f32.gguf"))
    }

    fn load(model: &str) -> Self {
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join(model);
        let weights = Weights::open(model.to_str().unwrap()).unwrap();
        let tokenizer = ModelTokenizer::load(&weights).unwrap();
        let compute = Compute::new(&LoadOptions::default()).unwrap();
        let model = Model::load(&weights, None, compute, CONTEXT, &mut |_| ControlFlow::Continue(())).unwrap();
        let (marker, n_computed) = (unused_control(&tokenizer), Arc::new(AtomicUsize::new(0)));
        let template = include_str!("embedded_tests.jinja").replace("IMAGE", &marker);
        let mut renderer = PromptRenderer::from_sources(&TemplateSources::from(template), &tokenizer).unwrap();
        let reader = TestReader { hidden_size: model.hidden_size(), n_computed: Arc::clone(&n_computed) };
        renderer.set_image_input(ImageInput::new(&marker, Arc::new(reader)));
        let loaded = LoadedModel::new(model, tokenizer, Some(renderer), CONTEXT);
        let runner =
            ModelRunner::start(loaded, &LoadOptions::default(), EngineSettings::default(), ModelInfo::default())
                .unwrap();
        Self { runner, n_computed }
    }

    fn chat(&self, history: &[ChatMessage]) -> Conversation {
        self.runner.create_conversation_from_history(history.to_vec())
    }

    /// Positions of messages, with the generation prompt.
    fn count(&self, history: &[ChatMessage]) -> usize {
        self.chat(history).prompt_token_count().unwrap()
    }

    fn n_computed(&self) -> usize {
        self.n_computed.load(Ordering::SeqCst)
    }
}

/// A control token that prompts and replies have no use for.
fn unused_control(tokenizer: &ModelTokenizer) -> String {
    let special = tokenizer.special_tokens();
    let is_used = |spelling: &str| spelling.contains("im_") || special.get("bos_token") == Some(spelling);
    let controls = tokenizer.texts().iter().zip(0..).filter_map(|(text, id)| match text {
        TokenText::Control(spelling) if !tokenizer.is_end(id) && !is_used(spelling) => Some(spelling.to_string()),
        _ => None,
    });
    controls.last().unwrap()
}

fn image(n_rows: usize, name: &str) -> ChatMessageContent {
    ChatMessageContent::Image(format!("{n_rows} rows of {name}").into_bytes())
}

/// A question about an image, which stands before it.
fn question(image: ChatMessageContent, text: &str) -> ChatMessage {
    let mut message = ChatMessage::user(text);
    message.content.insert(0, image);
    message
}

fn options() -> GenerationOptions {
    GenerationOptions { temperature: Some(0.0), max_tokens: Some(12), logprobs: Some(0), ..Default::default() }
}

/// The reply, with the bits of its tokens' log-probabilities.
fn reply(conversation: &Conversation, message: Option<ChatMessage>) -> (Completion, Vec<(u32, u64)>) {
    let stream = match message {
        Some(message) => conversation.generate_response(message, options()),
        None => conversation.continue_response(options()),
    };
    let mut bits = Vec::new();
    for event in stream {
        match event.unwrap() {
            MessageResponse::Logprobs(logprobs) => {
                bits.extend(logprobs.iter().map(|logprob| (logprob.token.id, logprob.token.logprob.to_bits())));
            }
            MessageResponse::Complete(completion) => return (*completion, bits),
            _ => {}
        }
    }
    panic!("the reply ends");
}

#[test]
fn the_same_picture_in_two_conversations_is_computed_and_prefilled_once() {
    for name in FIXTURES {
        let vision = Vision::fixture(name);
        let shown = [question(image(N_ROWS, "a cat"), "Look."), ChatMessage::assistant("I see.")];
        let ask = |text: &str| reply(&vision.chat(&shown), Some(ChatMessage::user(text))).0.stats;
        let first = ask("Is it big?");
        assert_eq!((first.cached_prompt_tokens, vision.n_computed()), (0, 1), "{name}");
        assert!(N_ROWS < first.prompt_tokens, "{name}: {first:?}");
        let second = ask("Where does it sleep?");
        // The prompts part in the second question. A state with convolutions serves from the end of the last message in
        // common, or of the one before, where a chunk has ended.
        let common = vision.count(&shown);
        let cached = second.cached_prompt_tokens;
        assert!(N_ROWS < cached && cached <= common, "{name}: {cached} of {common}");
        assert!(name != "qwen3" || common - 8 < cached, "{name}: {cached} of {common}");
        assert_eq!(vision.n_computed(), 1, "{name}");
    }
}

#[test]
fn another_picture_of_the_same_size_shares_only_what_stands_before_it() {
    let vision = Vision::fixture("qwen3");
    let ask = |name: &str| reply(&vision.chat(&[]), Some(question(image(N_ROWS, name), "What is it?"))).0.stats;
    let before =
        vision.count(&[question(image(1, "a cat"), "What is it?")]) - vision.count(&[ChatMessage::user("What is it?")]);
    assert_eq!(before, 1, "an image takes its rows and nothing else");
    ask("a cat");
    let cached = ask("a dog").cached_prompt_tokens;
    let user = vision.count(&[ChatMessage::user("")]);
    assert!(0 < cached && cached < user, "{cached} of {user}");
    assert_eq!(vision.n_computed(), 2);
}

#[test]
fn a_reply_about_a_picture_has_the_same_bits_alone_batched_and_resumed() {
    for name in FIXTURES {
        let asked = question(image(N_ROWS, "a cat"), "What is it?");
        let (alone, expect) = reply(&Vision::fixture(name).chat(&[]), Some(asked.clone()));
        assert_eq!((alone.stats.cached_prompt_tokens, expect.len()), (0, 12), "{name}");
        let vision = Vision::fixture(name);
        let others = ["a dog", "a bird", "a fish"].map(|other| question(image(N_ROWS, other), "What is it?"));
        let batched = thread::scope(|scope| {
            let chat = |message: &ChatMessage| reply(&vision.chat(&[]), Some(message.clone()));
            let others = others.each_ref().map(|other| scope.spawn(move || chat(other)));
            let batched = chat(&asked);
            others.into_iter().for_each(|other| assert_eq!(other.join().unwrap().1.len(), 12));
            batched
        });
        assert_eq!(batched.1, expect, "{name}, batched");
        let resumed = reply(&vision.chat(&[]), Some(asked));
        assert!(name != "qwen3" || N_ROWS < resumed.0.stats.cached_prompt_tokens, "{name}: {:?}", resumed.0.stats);
        assert_eq!(resumed.1, expect, "{name}, resumed");
    }
}

#[test]
fn a_picture_that_is_being_computed_holds_up_no_other_reply_and_can_be_cancelled() {
    let vision = Vision::fixture("lfm2");
    let stream = vision.chat(&[]).generate_response(question(image(N_ROWS, "an endless sea"), "What?"), options());
    let cancel = stream.cancel_handle();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || stream.into_iter().last().unwrap().unwrap());
        let answer = || reply(&vision.chat(&[]), Some(ChatMessage::user("Hello"))).1.len();
        while vision.n_computed() == 0 {
            assert_eq!(answer(), 12);
        }
        assert_eq!(answer(), 12);
        cancel.cancel();
        let MessageResponse::Complete(completion) = waiting.join().unwrap() else { panic!("the reply ends") };
        assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    });
}

#[test]
fn the_demo_model_takes_rows_too() {
    let vision = Vision::load("../models/demo.gguf");
    let asked = question(image(N_ROWS, "a cat"), "What is it?");
    let (first, expect) = reply(&vision.chat(&[]), Some(asked.clone()));
    assert!(N_ROWS < first.stats.prompt_tokens);
    assert_eq!(reply(&Vision::load("../models/demo.gguf").chat(&[]), Some(asked)).1, expect);
}

/// A session file, removed when it is dropped.
struct ImageSession(PathBuf);

impl Drop for ImageSession {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_session_with_a_picture_is_restored_without_computing_it_again() {
    for name in FIXTURES {
        let file = std::env::temp_dir().join(format!("causerie-image-{}-{name}.session", std::process::id()));
        let file = ImageSession(file);
        let saved = Vision::fixture(name).chat(&[question(image(N_ROWS, "a cat"), "What is it?")]);
        reply(&saved, None);
        saved.save_session(&file.0, true).unwrap();
        let fresh = Vision::fixture(name);
        let restored = fresh.runner.restore_session(&file.0).unwrap();
        assert_eq!(restored.history(), saved.history(), "{name}");
        let [expect, found] = [&saved, &restored].map(|chat| reply(chat, Some(ChatMessage::user("And now?"))));
        assert_eq!(found.1, expect.1, "{name}");
        assert!(N_ROWS < found.0.stats.cached_prompt_tokens, "{name}: {:?}", found.0.stats);
        assert_eq!(fresh.n_computed(), 0, "{name}");
    }
}

#[test]
fn a_context_is_fitted_by_rows_that_are_not_computed() {
    let vision = Vision::fixture("lfm2");
    let turn = |n: usize| [question(image(300, &format!("picture {n}")), "What?"), ChatMessage::assistant("A thing.")];
    let mut history: Vec<ChatMessage> = (0..20).flat_map(turn).collect();
    history.push(ChatMessage::user("And now?"));
    let chat = vision.chat(&history);
    let context_policy = ContextPolicy::Slide { shrink_tool_results: false };
    let plan = chat.plan_context(&GenerationOptions { context_policy, ..options() }).unwrap();
    assert!(20 * 300 < plan.tokens_before && plan.tokens_after < CONTEXT, "{plan:?}");
    assert!(10 < plan.dropped_messages.len() && plan.dropped_messages.len() < 40, "{plan:?}");
    let refused = vision.chat(&[question(image(1_000_000, "a map"), "Where?")]).continue_response(options());
    let err = refused.into_iter().last().unwrap().unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::PromptExceedsContext { needed: 1_000_000.., .. }), "{err}");
    assert_eq!(vision.n_computed(), 0);
}

#[test]
fn turns_with_pictures_are_left_out_several_at_a_time() {
    let vision = Vision::fixture("lfm2");
    let options =
        GenerationOptions { context_policy: ContextPolicy::Slide { shrink_tool_results: false }, ..options() };
    let (mut history, mut n_dropped) = (Vec::new(), Vec::new());
    for turn in 0..40 {
        history.push(question(image(300, &turn.to_string()), "And this?"));
        let plan = vision.chat(&history).plan_context(&options).unwrap();
        let is_full = plan.tokens_after == plan.tokens_before || CONTEXT / 2 < plan.tokens_after;
        assert!(is_full, "more than necessary is left out: {plan:?}");
        n_dropped.push(plan.dropped_messages.len());
        history.push(ChatMessage::assistant("A cat."));
    }
    // Each time that this number grows, the whole prompt is prefilled again.
    n_dropped.dedup();
    let n_turns = n_dropped.last().unwrap() / 2;
    assert!(20 < n_turns && 3 * n_dropped.len() < 2 * n_turns, "{n_dropped:?}");
}

#[test]
fn progress_counts_pictures() {
    let vision = Vision::fixture("lfm2");
    let mut asked = question(image(N_ROWS, "a cat"), "And this?");
    asked.content.push(image(5, "a dog"));
    let reply = vision.chat(&[]).generate_response(asked, options());
    let progress = reply.prefill_progress();
    assert_eq!((progress.done_images(), progress.total_images()), (0, 0));
    reply.into_iter().last().unwrap().unwrap();
    assert_eq!((progress.done_images(), progress.total_images()), (2, 2));
}

#[test]
fn a_picture_that_cannot_be_read_changes_nothing() {
    let vision = Vision::fixture("lfm2");
    let chat = vision.chat(&[]);
    let damaged = question(ChatMessageContent::Image(b"damaged".to_vec()), "What?");
    let err = chat.generate_response(damaged, options()).into_iter().last().unwrap().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    assert!(chat.history().is_empty() && !chat.is_generating());
}

#[test]
fn the_place_of_a_picture_is_that_in_the_history() {
    let vision = Vision::fixture("lfm2");
    let damaged = question(ChatMessageContent::Image(b"damaged".to_vec()), "What?");
    // The schema is put into a system message, which the history does not have.
    let options = GenerationOptions { json_schema_constraint: Some(r#"{"type": "object"}"#.to_owned()), ..options() };
    let err = vision.chat(&[damaged]).continue_response(options).into_iter().last().unwrap().unwrap_err();
    assert!(err.message().starts_with("messages[0].content[0]: "), "{err}");
}
