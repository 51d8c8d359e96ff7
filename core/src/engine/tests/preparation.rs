//! Prompts that are made beside the engine thread. The tests hold one up by a channel, never by the clock.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// A prompt whose making waits until it is released.
struct HeldPrompt {
    begun: Receiver<()>,
    release: Sender<()>,
    committed: Arc<AtomicBool>,
}

/// A reply of some tokens to a held prompt, which is being made when this returns.
fn held(engine: &Arc<Engine>, max_tokens: usize) -> (ResponseStream, HeldPrompt) {
    let ((begin, begun), (release, released)) = (channel(), channel::<()>());
    let committed = Arc::new(AtomicBool::new(false));
    let mut request = greedy(engine, max_tokens);
    let job = request.owner.turn().unwrap();
    let held: PromptJob = Box::new(move |loaded| {
        begin.send(()).unwrap();
        released.recv().unwrap();
        job(loaded)
    });
    request.owner = Box::new(TestOwner { job: Some(held), has_begun: Arc::clone(&committed) });
    let mut stream = asked(engine, request);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(Pin::new(&mut stream).poll_next(&mut context).is_pending());
    begun.recv().unwrap();
    (stream, HeldPrompt { begun, release, committed })
}

fn asked(engine: &Arc<Engine>, request: Request) -> ResponseStream {
    let starter = Arc::clone(engine);
    ResponseStream::new(move |sender| {
        starter.submit(request, sender)?;
        Ok(starter.thread())
    })
}

fn completion(stream: ResponseStream) -> Completion {
    match stream.into_iter().last().unwrap().unwrap() {
        MessageResponse::Complete(completion) => *completion,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reply_goes_on_while_the_prompt_of_another_is_made() {
    let engine = Arc::new(engine());
    let (late, prompt) = held(&engine, 3);
    assert_eq!(completion(asked(&engine, greedy(&engine, 20))).stats.completion_tokens, 20);
    assert!(!prompt.committed.load(Ordering::SeqCst));
    prompt.release.send(()).unwrap();
    assert_eq!(completion(late).stats.completion_tokens, 3);
    assert!(prompt.committed.load(Ordering::SeqCst));
}

#[test]
fn a_cancel_while_the_prompt_is_made_ends_the_reply_at_once() {
    let engine = Arc::new(engine());
    let (stream, prompt) = held(&engine, 3);
    stream.cancel();
    let completion = completion(stream);
    assert_eq!((completion.finish_reason, completion.stats.prompt_tokens), (FinishReason::Interrupted, 0));
    prompt.release.send(()).unwrap();
    pollster::block_on(engine.unload()).unwrap(); // waits for the prompt
    assert!(!prompt.committed.load(Ordering::SeqCst), "the message of a cancelled reply is not added");
}

#[test]
fn a_panic_while_the_prompt_is_made_ends_its_reply_alone() {
    let engine = Arc::new(engine());
    let mut request = greedy(&engine, 3);
    request.owner = TestOwner::new(Box::new(|_| panic!("on purpose")));
    let err = asked(&engine, request).into_iter().last().unwrap().unwrap_err();
    assert_eq!(err.kind(), ErrorKind::Internal);
    assert_eq!(completion(asked(&engine, greedy(&engine, 3))).stats.completion_tokens, 3);
}

#[test]
fn unloading_ends_replies_at_once_and_is_reported_when_no_prompt_is_being_made() {
    let engine = Arc::new(engine());
    let model = Arc::downgrade(&engine.loaded().unwrap());
    let (stream, prompt) = held(&engine, 3);
    let mut unloaded = engine.unload();
    assert_eq!(completion(stream).finish_reason, FinishReason::Interrupted);
    assert_eq!(unloaded.try_recv(), Ok(None), "the prompt still needs the model");
    prompt.release.send(()).unwrap();
    pollster::block_on(unloaded).unwrap();
    assert_eq!(model.strong_count(), 0);
    assert!(!prompt.committed.load(Ordering::SeqCst));
}

#[test]
fn an_engine_that_is_dropped_waits_for_no_prompt() {
    let engine = Arc::new(engine());
    let model = Arc::downgrade(&engine.loaded().unwrap());
    let (stream, prompt) = held(&engine, 3);
    drop(stream);
    drop(engine);
    prompt.release.send(()).unwrap();
    check_unloaded(&model);
    assert!(prompt.begun.try_recv().is_err());
}
