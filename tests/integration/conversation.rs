//! Conversations as apps hold them, over a tiny model with random weights: its replies make no sense, but every rule of the
//! stream applies to them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use causerie::{
    CancelHandle, ChatMessage, Completion, Conversation, ErrorKind, FinishReason, GenerationOptions, MessageResponse,
    ModelRunner, ResponseStream, Role, SdkError, SdkFunction,
};
use futures_core::Stream;

use crate::fixture;

fn runner() -> ModelRunner {
    ModelRunner::load(fixture("models/lfm2-f32.gguf")).unwrap()
}

/// Greedy, and long enough to be interrupted: this model never ends by itself within it.
fn options(max_tokens: usize) -> GenerationOptions {
    GenerationOptions { temperature: Some(0.0), max_tokens: Some(max_tokens), ..Default::default() }
}

fn ask(conversation: &Conversation, options: GenerationOptions) -> ResponseStream {
    conversation.generate_response(ChatMessage::user("Hi"), options)
}

/// The chunks joined, and the end. Fails unless the end comes once, last.
#[track_caller]
fn read(stream: ResponseStream) -> (String, Result<Completion, SdkError>) {
    let (mut text, mut end) = (String::new(), None);
    for event in stream {
        assert!(end.is_none(), "an event after the end: {event:?}");
        match event {
            Ok(MessageResponse::Chunk(chunk)) => text += &chunk,
            Ok(MessageResponse::Complete(completion)) => end = Some(Ok(*completion)),
            Ok(_) => {}
            Err(err) => end = Some(Err(err)),
        }
    }
    (text, end.expect("the stream has an end"))
}

#[track_caller]
fn check_error(stream: ResponseStream, expect: ErrorKind) {
    let (text, end) = read(stream);
    assert_eq!((text.as_str(), end.unwrap_err().kind()), ("", expect));
}

#[test]
fn a_reply_is_streamed_and_joins_the_history() {
    let conversation = runner().create_conversation("Be brief.");
    let (text, end) = read(ask(&conversation, options(20)));
    let completion = end.unwrap();
    assert_eq!(completion.full_message.text(), text);
    assert_eq!(completion.finish_reason, FinishReason::MaxTokens);
    assert_eq!(completion.stats.completion_tokens, 20);
    let history = conversation.history();
    assert_eq!(
        history.iter().map(|message| message.role).collect::<Vec<_>>(),
        [Role::System, Role::User, Role::Assistant]
    );
    assert_eq!(history[2], completion.full_message);
    assert!(!conversation.is_generating());
}

#[test]
fn the_three_ways_to_pull_give_the_same_events() {
    let runner = runner();
    let stream = || ask(&runner.create_conversation(""), options(30));
    let text = |events: &[Result<MessageResponse, SdkError>]| {
        let chunks = events.iter().filter_map(|event| match event {
            Ok(MessageResponse::Chunk(chunk)) => Some(chunk.as_str()),
            _ => None,
        });
        assert!(matches!(events.last(), Some(Ok(MessageResponse::Complete(_)))));
        chunks.collect::<String>()
    };
    let blocking: Vec<_> = stream().into_iter().collect();
    let awaited = pollster::block_on(async {
        let (mut stream, mut events) = (stream(), Vec::new());
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        assert!(stream.next().await.is_none(), "nothing follows the end");
        events
    });
    let polled = pollster::block_on(async {
        let (mut stream, mut events) = (std::pin::pin!(stream()), Vec::new());
        while let Some(event) = std::future::poll_fn(|ctx| Stream::poll_next(stream.as_mut(), ctx)).await {
            events.push(event);
        }
        events
    });
    assert_eq!(text(&awaited), text(&blocking));
    assert_eq!(text(&polled), text(&blocking));
}

#[test]
fn a_blocking_reader_in_a_tokio_task_gets_every_event() {
    let stream = ask(&runner().create_conversation(""), options(300));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (_, end) = runtime.block_on(async move { tokio::spawn(async move { read(stream) }).await.unwrap() });
    assert_eq!(end.unwrap().stats.completion_tokens, 300);
}

#[test]
fn a_future_dropped_while_it_waits_loses_no_event() {
    let conversation = runner().create_conversation("");
    let (expect, _) = read(ask(&runner().create_conversation(""), options(30)));
    let mut stream = ask(&conversation, options(30));
    let mut text = String::new();
    loop {
        // Polled once and dropped, as a cancelled `select` arm would be.
        let mut ctx = Context::from_waker(Waker::noop());
        let polled = std::pin::pin!(stream.next()).as_mut().poll(&mut ctx);
        match polled {
            Poll::Ready(Some(Ok(MessageResponse::Chunk(chunk)))) => text += &chunk,
            Poll::Ready(Some(Ok(MessageResponse::Complete(_)))) => break,
            Poll::Ready(other) => panic!("{other:?}"),
            Poll::Pending => thread::yield_now(),
        }
    }
    assert_eq!(text, expect);
}

#[test]
fn a_stream_is_cold() {
    let conversation = runner().create_conversation("");
    let stream = ask(&conversation, options(1));
    assert!(conversation.history().is_empty());
    drop(stream);
    assert!(conversation.history().is_empty() && !conversation.is_generating());
}

#[test]
fn the_same_seed_gives_the_same_reply() {
    let runner = runner();
    let reply = |seed| {
        let options = GenerationOptions { seed: Some(seed), max_tokens: Some(30), ..Default::default() };
        read(ask(&runner.create_conversation(""), options)).0
    };
    assert_eq!(reply(5), reply(5));
    assert_ne!(reply(5), reply(6));
}

#[test]
fn cancelling_at_any_token_ends_the_reply_once_and_keeps_its_text_so_far() {
    let runner = runner();
    let (whole, _) = read(ask(&runner.create_conversation(""), options(40)));
    for cancel_at in 0..12 {
        let conversation = runner.create_conversation("");
        let mut stream = ask(&conversation, options(usize::MAX));
        let mut text = String::new();
        for _ in 0..cancel_at {
            let Some(Ok(MessageResponse::Chunk(chunk))) = stream.iter().next() else { panic!("a chunk must come") };
            text += &chunk;
        }
        stream.cancel();
        stream.cancel();
        let (rest, end) = read(stream);
        text += &rest;
        let completion = end.unwrap();
        assert_eq!(completion.finish_reason, FinishReason::Interrupted);
        assert!(completion.full_message.incomplete);
        assert_eq!(completion.full_message.text(), text);
        // A reply that is cancelled before it starts leaves nothing; otherwise its text so far stays.
        let left = (0 < cancel_at).then_some(&completion.full_message);
        assert_eq!(conversation.history().last(), left);
        assert!(whole.starts_with(&text) || text.starts_with(&whole), "{text:?}");
    }
}

#[test]
fn a_dropped_stream_frees_the_conversation() {
    let conversation = runner().create_conversation("");
    let mut stream = ask(&conversation, options(usize::MAX));
    stream.iter().next().unwrap().unwrap();
    drop(stream);
    let (_, end) = read(ask(&conversation, options(3)));
    assert_eq!(end.unwrap().stats.completion_tokens, 3);
    assert!(conversation.history()[1].incomplete);
}

#[test]
fn the_history_has_a_reply_that_was_left() {
    let runner = runner();
    for _ in 0..30 {
        let conversation = runner.create_conversation("");
        let mut stream = ask(&conversation, options(20));
        stream.iter().next().unwrap().unwrap();
        drop(stream);
        let (history, forked) = (conversation.history(), conversation.fork().history());
        assert_eq!(history.iter().map(|message| message.role).collect::<Vec<_>>(), [Role::User, Role::Assistant]);
        assert_eq!(forked, history);
    }
}

/// Cancels a reply and reads the history where it is woken, which is on the thread that computes the reply.
struct ReadingWaker {
    conversation: Conversation,
    reply: CancelHandle,
    sender: Sender<usize>,
}

impl Wake for ReadingWaker {
    fn wake(self: Arc<Self>) {
        self.reply.cancel();
        let _ = self.sender.send(self.conversation.history().len()); // fails once the test has ended
    }
}

#[test]
fn a_reader_may_ask_for_the_history_where_it_is_woken() {
    let conversation = runner().create_conversation("");
    let mut stream = ask(&conversation, options(usize::MAX));
    let (sender, woken) = channel();
    let waker = ReadingWaker { conversation: conversation.clone(), reply: stream.cancel_handle(), sender };
    let waker = Waker::from(Arc::new(waker));
    assert!(Pin::new(&mut stream).poll_next(&mut Context::from_waker(&waker)).is_pending());
    assert!(woken.recv_timeout(Duration::from_secs(60)).is_ok(), "the reader must be woken and get the history");
    assert!(read(stream).1.is_ok());
}

#[test]
fn a_second_reply_at_a_time_is_refused() {
    let conversation = runner().create_conversation("");
    let mut stream = ask(&conversation, options(usize::MAX));
    stream.iter().next().unwrap().unwrap();
    check_error(ask(&conversation, options(1)), ErrorKind::Busy);
    let function = SdkFunction::new("f", "", vec![]);
    assert_eq!(conversation.register_function(function).unwrap_err().kind(), ErrorKind::Busy);
    stream.cancel();
    assert!(read(stream).1.is_ok());
    assert!(read(ask(&conversation, options(1))).1.is_ok());
}

#[test]
fn a_stalled_reader_delays_only_itself() {
    let runner = runner();
    let stalled = runner.create_conversation("");
    let mut stream = ask(&stalled, options(200));
    stream.iter().next().unwrap().unwrap();
    for _ in 0..3 {
        assert!(read(ask(&runner.create_conversation(""), options(60))).1.is_ok());
    }
    assert!(stalled.is_generating(), "200 tokens do not fit the channel");
    assert_eq!(read(stream).1.unwrap().stats.completion_tokens, 200);
}

#[test]
fn concurrent_conversations_have_the_same_replies_as_alone() {
    let runner = runner();
    let reply =
        |prompt: &str| read(runner.create_conversation("").generate_response(ChatMessage::user(prompt), options(50))).0;
    let prompts = ["a", "Name three rivers.", "x y z"];
    let alone = prompts.map(reply);
    let together = thread::scope(|scope| {
        let threads = prompts.map(|prompt| scope.spawn(move || reply(prompt)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(together, alone);
}

#[test]
fn a_stop_sequence_ends_the_reply_and_is_not_part_of_it() {
    let runner = runner();
    let (whole, _) = read(ask(&runner.create_conversation(""), options(40)));
    let stop: String = whole.chars().skip(10).take(3).collect();
    let options = GenerationOptions { stop_sequences: vec![stop.clone()], ..options(40) };
    let (text, end) = read(ask(&runner.create_conversation(""), options));
    assert_eq!(Some(text.as_str()), whole.split(&stop).next());
    assert_eq!(end.unwrap().finish_reason, FinishReason::Stop);
}

#[test]
fn a_reply_that_cannot_start_leaves_the_history_unchanged() {
    let runner = runner();
    let conversation = runner.create_conversation("");
    let bad = GenerationOptions { temperature: Some(-1.0), ..Default::default() };
    check_error(ask(&conversation, bad), ErrorKind::InvalidOption("temperature"));
    let of_no_token = GenerationOptions { logit_bias: [(1_000_000, 1.0)].into(), ..Default::default() };
    check_error(ask(&conversation, of_no_token), ErrorKind::InvalidOption("logit_bias"));
    for message in [ChatMessage::user(""), ChatMessage::assistant("a"), ChatMessage::system("a")] {
        check_error(conversation.generate_response(message, options(1)), ErrorKind::InvalidMessage);
    }
    let long = ChatMessage::user("a b ".repeat(10_000));
    let (_, end) = read(conversation.generate_response(long, options(1)));
    let kind = end.unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::PromptExceedsContext { needed, available: 4096 } if 4096 < needed), "{kind:?}");
    assert!(conversation.history().is_empty());
}

#[test]
fn a_full_context_ends_the_reply() {
    let runner = runner();
    let prompt = "a".repeat(4080);
    let n_prompt = runner.tokenize(&prompt).unwrap().len();
    let (_, end) = read(runner.complete(prompt, options(usize::MAX)));
    let completion = end.unwrap();
    assert_eq!(completion.finish_reason, FinishReason::ExceedContext);
    assert_eq!(completion.stats.total_tokens(), runner.context_size());
    assert_eq!(completion.stats.prompt_tokens, n_prompt);
}

#[test]
fn functions_come_with_a_history_and_are_replaced_in_place() {
    let conversation = runner().create_conversation("");
    for (name, description) in [("a", "1"), ("b", "2"), ("a", "3")] {
        conversation.register_function(SdkFunction::new(name, description, vec![])).unwrap();
    }
    let carried = conversation.model_runner().create_conversation_from_history(conversation.history());
    let functions: Vec<String> = carried.functions().iter().map(|f| format!("{}{}", f.name, f.description)).collect();
    assert_eq!(functions, ["a3", "b2"]);
}

#[test]
fn a_longer_prompt_is_prefilled_from_where_it_differs_and_gives_the_same_reply() {
    let turn = "<|im_start|>user\nName three rivers, and say where they are.<|im_end|>\n";
    let (first, longer) = (turn.to_owned(), format!("{turn}{turn}<|im_start|>assistant\n"));
    let warm = runner();
    read(warm.complete(first.as_str(), options(1))).1.unwrap();
    for stranger in ["x", "<|im_start|>user\n"] {
        assert_eq!(read(warm.complete(stranger, options(1))).1.unwrap().stats.cached_prompt_tokens, 0);
    }
    let (text, end) = read(warm.complete(longer.as_str(), options(40)));
    let n_first = warm.tokenize(&first).unwrap().len();
    assert_eq!(end.unwrap().stats.cached_prompt_tokens, n_first);
    let (expect, end) = read(runner().complete(longer, options(40)));
    assert_eq!((text, end.unwrap().stats.cached_prompt_tokens), (expect, 0));
}

#[test]
fn a_model_outlives_its_runner_while_it_is_in_use() {
    let conversation = runner().create_conversation("");
    let mut stream = ask(&conversation, options(100));
    drop(conversation);
    stream.iter().next().unwrap().unwrap();
    assert_eq!(read(stream).1.unwrap().stats.completion_tokens, 100);
}
