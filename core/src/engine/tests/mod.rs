//! The life of the engine thread, and the order in which it serves replies.

mod cuts;
#[cfg(feature = "gpu")]
mod lost_gpu;
mod marked_speech;
mod preparation;
mod speech;

use std::ops::ControlFlow;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Weak};
use std::time::{Duration, Instant};

use futures_core::Stream;

use super::*;
use crate::function::{SdkFunction, SdkFunctionParameter, SdkFunctionParameterType};
use crate::message::ChatMessage;
use crate::model::{Compute, Model};
use crate::options::{GenerationOptions, SpeechMode, ToolChoice};
use crate::position::Position;
use crate::prompt::Segment;
use crate::response::{Completion, FinishReason, GenerationStats, MessageResponse, PromptReport};
use crate::tokenizer::ModelTokenizer;
use crate::weights::Weights;

fn engine() -> Engine {
    engine_of("lfm2", true)
}

fn engine_of(family: &str, looks_ahead: bool) -> Engine {
    engine_on(Compute::new(&Default::default()).unwrap(), family, looks_ahead)
}

fn engine_on(compute: Compute, family: &str, looks_ahead: bool) -> Engine {
    start(LoadedModel { looks_ahead, ..load(compute, family) })
}

fn start(loaded: LoadedModel) -> Engine {
    Engine::start(loaded, PrefixCache::new(1 << 20, 8)).unwrap()
}

fn load(compute: Compute, family: &str) -> LoadedModel {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models");
    let model = models.join(format!("{family}-f32.gguf"));
    let weights = Weights::open(model.to_str().unwrap()).unwrap();
    let tokenizer = ModelTokenizer::load(&weights).unwrap();
    let model = Model::load(&weights, None, compute, usize::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    LoadedModel::new(model, tokenizer, None, 4096)
}

fn greedy(engine: &Engine, max_tokens: usize) -> Request {
    let options = GenerationOptions { temperature: Some(0.0), max_tokens: Some(max_tokens), ..Default::default() };
    let sampling = options.sampling(&Default::default());
    let tokens = engine.loaded().unwrap().tokenizer.encode_with_bos(&[]).unwrap();
    let prompt = prompt_of(tokens);
    Request { owner: TestOwner::new(Box::new(|_| Ok(prompt))), options, sampling }
}

/// The owner of a reply whose turn has come, which notes that it has begun.
struct TestOwner {
    job: Option<PromptJob>,
    has_begun: Arc<AtomicBool>,
}

impl TestOwner {
    fn new(job: PromptJob) -> Box<Self> {
        Box::new(Self { job: Some(job), has_begun: Arc::default() })
    }
}

impl ReplyOwner for TestOwner {
    fn turn(&mut self) -> Option<PromptJob> {
        self.job.take()
    }

    fn begin(&mut self, _: Vec<ChatMessage>) {
        self.has_begun.store(true, Ordering::SeqCst);
    }
}

fn prompt_of(tokens: Vec<u32>) -> Prepared {
    let positions = tokens.into_iter().map(Position::Token).collect();
    Prepared {
        speech: SpeechMode::Off,
        reading: None,
        messages: Vec::new(),
        positions,
        embedded: Vec::new(),
        in_reasoning: false,
        continues_text: false,
        owner: Owner::default(),
        functions: Vec::new(),
        constraint: ReplyConstraint::default(),
        report: PromptReport::default(),
    }
}

/// A reply without an end that has begun and is not pulled on.
fn stalled(engine: &Arc<Engine>) -> ResponseStream {
    let (request, starter) = (greedy(engine, usize::MAX), Arc::clone(engine));
    let mut stream = ResponseStream::new(move |sender| {
        starter.submit(request, sender)?;
        Ok(starter.thread())
    });
    stream.iter().next().unwrap().unwrap();
    stream
}

/// Waits until the engine thread has released the model. The time limit only ends a failing test.
#[track_caller]
fn check_unloaded(model: &Weak<LoadedModel>) {
    let begun = Instant::now();
    while model.strong_count() != 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the model is still loaded");
        thread::yield_now();
    }
}

#[test]
fn the_model_is_unloaded_after_the_last_handle() {
    let engine = engine();
    let model = Arc::downgrade(&engine.loaded().unwrap());
    drop(engine);
    check_unloaded(&model);
}

#[test]
fn the_model_is_unloaded_when_a_stalled_stream_outlives_all_else() {
    let engine = Arc::new(engine());
    let model = Arc::downgrade(&engine.loaded().unwrap());
    let stream = stalled(&engine);
    drop(engine);
    drop(stream);
    check_unloaded(&model);
}

#[test]
fn a_model_that_is_unloaded_ends_its_replies_and_is_gone() {
    let engine = Arc::new(engine());
    let model = Arc::downgrade(&engine.loaded().unwrap());
    let stream = stalled(&engine);
    pollster::block_on(engine.unload()).unwrap();
    assert_eq!(model.strong_count(), 0, "the stalled reader holds nothing of it");
    let last = stream.into_iter().last().unwrap().unwrap();
    let MessageResponse::Complete(completion) = last else { panic!("{last:?}") };
    assert_eq!(completion.finish_reason, FinishReason::Interrupted);
    pollster::block_on(engine.unload()).unwrap();
    assert_eq!(engine.loaded().err().map(|err| err.kind()), Some(ErrorKind::ModelUnloaded));
}

/// The owner of a reply whose turn comes when all may begin; notes the order of ends.
struct GatedOwner {
    at: usize,
    job: Option<PromptJob>,
    may_begin: Arc<AtomicBool>,
    ends: Arc<Mutex<Vec<usize>>>,
}

impl ReplyOwner for GatedOwner {
    fn turn(&mut self) -> Option<PromptJob> {
        if self.may_begin.load(Ordering::Acquire) { self.job.take() } else { None }
    }

    fn ended(&mut self, reply: Option<&mut ChatMessage>) {
        if reply.is_some() {
            self.ends.lock().push(self.at);
        }
    }
}

/// The owner of a reply that never begins. Once all may begin, it holds up the engine thread until all prompts are ready.
struct HoldingOwner {
    may_begin: Arc<AtomicBool>,
    all_ready: Option<Arc<Barrier>>,
}

impl ReplyOwner for HoldingOwner {
    fn turn(&mut self) -> Option<PromptJob> {
        if self.may_begin.load(Ordering::Acquire)
            && let Some(all_ready) = self.all_ready.take()
        {
            all_ready.wait();
        }
        None
    }
}

/// Generates one-token replies to prompts that become ready together; returns them in the order in which they ended. The engine
/// must prepare one prompt at a time.
fn order_of_ends(engine: &Arc<Engine>, prompts: &[Vec<u32>]) -> Vec<usize> {
    let (may_begin, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let begin = |owner: Box<dyn ReplyOwner>| {
        let request = Request { owner, ..greedy(engine, 1) };
        let starter = Arc::clone(engine);
        let mut stream = ResponseStream::new(move |sender| {
            starter.submit(request, sender)?;
            Ok(starter.thread())
        });
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(Pin::new(&mut stream).poll_next(&mut context).is_pending());
        stream
    };
    let begin_gated = |at: usize, job: PromptJob| {
        let (may_begin, ends) = (Arc::clone(&may_begin), Arc::clone(&ended));
        begin(Box::new(GatedOwner { at, job: Some(job), may_begin, ends }))
    };
    let begin_prompt = |(at, tokens): (usize, &Vec<u32>)| {
        let prompt = prompt_of(tokens.clone());
        begin_gated(at, Box::new(|_| Ok(prompt)))
    };
    let streams: Vec<_> = prompts.iter().enumerate().map(begin_prompt).collect();
    let all_ready = Arc::new(Barrier::new(2));
    let holding = HoldingOwner { may_begin: Arc::clone(&may_begin), all_ready: Some(Arc::clone(&all_ready)) };
    // Jobs run in order, so this one runs when all prompts are ready.
    let last_job: PromptJob = Box::new(move |_| {
        all_ready.wait();
        Err(unloaded())
    });
    let _others = [begin_gated(prompts.len(), last_job), begin(Box::new(holding))];
    // On the engine thread, so that all turns come in the same step.
    engine.visit(move |_, _| may_begin.store(true, Ordering::Release)).unwrap();
    streams.into_iter().for_each(|stream| drop(stream.into_iter().last().unwrap().unwrap()));
    ended.lock().clone()
}

#[test]
fn a_long_prompt_does_not_delay_a_short_one() {
    // No token of the vocabulary's first 300 ends a message, but for those at its beginning.
    let prompt = |first: u32, n_tokens: u32| (0..n_tokens).map(|at| 20 + (first + at * 7) % 280).collect::<Vec<u32>>();
    let long = prompt(0, 2000);
    for family in ["lfm2", "qwen3"] {
        let loaded = load(Compute::new(&Default::default()).unwrap(), family);
        let engine = Arc::new(start(LoadedModel { preparation_threads: 1, ..loaded }));
        assert_eq!(order_of_ends(&engine, &[long.clone(), prompt(1, 40)]), [1, 0], "{family}");
        assert_eq!(order_of_ends(&engine, &[prompt(2, 2000), prompt(3, 600), prompt(4, 200)]), [2, 1, 0], "{family}");
        // The oldest prompt comes first in every other step.
        assert_eq!(order_of_ends(&engine, &[prompt(5, 600), prompt(6, 700)]), [0, 1], "{family}");
    }
}

/// A reply that consists of calls of a function with long names.
fn required_call(engine: &Arc<Engine>, temperature: f32, seed: u64) -> Box<Completion> {
    let names = ["a_first_name", "a_second_name", "another"];
    let mut parameters = names.map(|name| SdkFunctionParameter::new(name, SdkFunctionParameterType::integer(), ""));
    parameters[2].parameter_type = SdkFunctionParameterType::string();
    let functions = vec![SdkFunction::new("a_function_of_a_long_name", "", parameters.into())];
    let options = GenerationOptions {
        tool_choice: ToolChoice::Required,
        temperature: Some(temperature),
        seed: Some(seed),
        max_tokens: Some(200),
        repetition_penalty: Some(REPEATING),
        ..Default::default()
    };
    reply(engine, options, functions)
}

fn reply(engine: &Arc<Engine>, options: GenerationOptions, functions: Vec<SdkFunction>) -> Box<Completion> {
    let sampling = options.sampling(&Default::default());
    let loaded = engine.loaded().unwrap();
    let tokens = loaded.tokenizer.encode_with_bos(&[Segment::Text("Call it with \"another\".".to_owned())]).unwrap();
    let constraint = ReplyConstraint::new(&loaded, &options, &functions, false).unwrap();
    let prompt = Prepared { functions, constraint, ..prompt_of(tokens) };
    let request = Request { owner: TestOwner::new(Box::new(|_| Ok(prompt))), options, sampling };
    let starter = Arc::clone(engine);
    let stream = ResponseStream::new(move |sender| {
        starter.submit(request, sender)?;
        Ok(starter.thread())
    });
    match stream.into_iter().last().unwrap().unwrap() {
        MessageResponse::Complete(completion) => completion,
        other => panic!("{other:?}"),
    }
}

fn with_and_without_drafts(family: &str) -> [Arc<Engine>; 2] {
    [true, false].map(|looks_ahead| Arc::new(engine_of(family, looks_ahead)))
}

/// Checks that a reply is the same with and without drafts. Returns the numbers of drafted and accepted tokens.
#[track_caller]
fn check_same([ahead, not]: [Box<Completion>; 2], about: &str) -> [usize; 2] {
    assert_eq!(ahead.full_message, not.full_message, "{about}");
    assert_eq!(ahead.finish_reason, not.finish_reason, "{about}");
    let counts = |stats: &GenerationStats| (stats.completion_tokens, stats.forced_tokens, stats.call_tokens);
    assert_eq!(counts(&ahead.stats), counts(&not.stats), "{about}");
    assert_eq!((not.stats.drafted_tokens, not.stats.accepted_draft_tokens), (0, 0));
    [ahead.stats.drafted_tokens, ahead.stats.accepted_draft_tokens]
}

/// A penalty that makes random weights repeat themselves, so that some drafts are accepted.
const REPEATING: f32 = 0.1;

/// With convolutions, without, and with delta nets.
const FAMILIES: [&str; 3] = ["lfm2", "mistral", "qwen35"];

#[test]
fn calls_are_the_same_with_and_without_forced_tokens_and_drafts_in_one_step() {
    for family in FAMILIES {
        let engines = with_and_without_drafts(family);
        let mut n_accepted = 0;
        for seed in 0..10 {
            let temperature = [0.0, 0.1, 1.0][seed as usize % 3];
            let calls = engines.each_ref().map(|engine| required_call(engine, temperature, seed));
            let stats = calls[0].stats;
            assert!(family != "lfm2" || stats.call_tokens / 10 < stats.forced_tokens, "{stats:?}");
            n_accepted += check_same(calls, &format!("{family}, seed {seed}"))[1];
        }
        assert!(0 < n_accepted, "{family}: no draft token was accepted, so nothing was tested");
    }
}

#[test]
fn quotes_are_the_same_with_and_without_drafts() {
    for family in FAMILIES {
        let engines = with_and_without_drafts(family);
        let [mut n_drafted, mut n_accepted] = [0, 0];
        for seed in 0..10 {
            let temperature = Some([0.0, 0.3, 1.0][seed as usize % 3]);
            let sampling = GenerationOptions { temperature, seed: Some(seed), ..Default::default() };
            let options = GenerationOptions { max_tokens: Some(200), repetition_penalty: Some(REPEATING), ..sampling };
            let replies = engines.each_ref().map(|engine| reply(engine, options.clone(), Vec::new()));
            let [drafted, accepted] = check_same(replies, &format!("{family}, seed {seed}"));
            (n_drafted, n_accepted) = (n_drafted + drafted, n_accepted + accepted);
        }
        assert!(0 < n_accepted && n_accepted < n_drafted, "{family}: {n_accepted} of {n_drafted}");
    }
}
