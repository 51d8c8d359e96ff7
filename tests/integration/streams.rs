//! Replies as streams of futures and as iterators, with the methods of both in scope.

use std::ops::ControlFlow;
use std::task::Poll;

use causerie::testing::{ScriptedModel, ScriptedReply};
use causerie::{ChatMessage, GenerationOptions, MessageResponse, ResponseStream, Result, SdkError, TextStream};
use futures_util::{StreamExt, TryStreamExt, future};

fn reply() -> ResponseStream {
    let runner =
        ScriptedModel::new().reply(ScriptedReply::new().text("It ").text("is ").text("sunny.")).load().unwrap();
    runner.create_conversation("").generate_response(ChatMessage::user("Well?"), GenerationOptions::default())
}

fn chunk(event: Result<MessageResponse>) -> Option<String> {
    match event {
        Ok(MessageResponse::Chunk(text)) => Some(text),
        _ => None,
    }
}

#[test]
fn each_method_of_stream_ext_is_that_of_the_stream() {
    pollster::block_on(async {
        let text: String = reply().filter_map(|event| future::ready(chunk(event))).collect().await;
        assert_eq!(text, "It is sunny.");
        assert_eq!(reply().map(chunk).enumerate().skip(1).take(1).count().await, 1);
        assert_eq!(reply().chain(reply()).zip(reply()).count().await, reply().count().await);
        assert!(reply().inspect(|_| {}).any(|event| future::ready(event.is_ok())).await);
        assert!(reply().all(|event| future::ready(event.is_ok())).await);
        let all = reply().fold(String::new(), |all, event| future::ready(all + &chunk(event).unwrap_or_default()));
        assert_eq!(all.await, "It is sunny.");
        let mut n_events = 0;
        reply()
            .for_each(|_| {
                n_events += 1;
                future::ready(())
            })
            .await;
        assert!(1 < n_events);
        let mut peekable = Box::pin(reply().peekable());
        assert!(peekable.as_mut().peek().await.is_some());
        let mut reply = reply();
        assert!(reply.by_ref().take(1).next().await.is_some());
        assert!(reply.next().await.is_some());
    });
}

#[test]
fn a_reply_is_a_stream_of_results() {
    let events: Vec<MessageResponse> = pollster::block_on(reply().try_collect()).unwrap();
    assert!(matches!(events.last(), Some(MessageResponse::Complete(_))));
    let n_events = pollster::block_on(reply().try_fold(0, |count, _| future::ready(Ok::<_, SdkError>(count + 1))));
    assert_eq!(n_events.unwrap(), events.len());
    let pieces: Vec<String> = pollster::block_on(reply().text().try_collect()).unwrap();
    assert_eq!(pieces.concat(), "It is sunny.");
}

#[test]
fn a_reply_can_be_selected_and_pulled_beside_others() {
    let (first, second) = (reply(), reply());
    let n_events = pollster::block_on(future::join(first.count(), second.count()));
    assert_eq!(n_events.0, n_events.1);
    let mut both = futures_util::stream::select(reply(), reply());
    let n_both = pollster::block_on(async {
        let mut n_events = 0;
        while let Some(event) = both.next().await {
            n_events += usize::from(event.is_ok());
        }
        n_events
    });
    assert_eq!(n_both, 2 * n_events.0);
}

#[test]
fn loops_read_a_reply_and_its_text() {
    let mut text = String::new();
    for event in reply() {
        text.extend(chunk(event));
    }
    assert_eq!(text, "It is sunny.");
    let mut pieces = reply().text();
    let joined: String = pieces.iter().map(Result::unwrap).collect();
    assert_eq!(joined, text);
    assert_eq!(pieces.completion().unwrap().full_message.text(), text);
    let mut n_pieces = 0;
    for piece in reply().text() {
        n_pieces += usize::from(!piece.unwrap().is_empty());
    }
    assert!(0 < n_pieces);
}

#[test]
fn a_reply_goes_on_where_a_loop_has_left_it() {
    let mut reply = reply();
    let mut first = None;
    for event in &mut reply {
        first = chunk(event);
        if first.is_some() {
            break;
        }
    }
    let rest: String = reply.iter().filter_map(chunk).collect();
    assert_eq!(first.unwrap() + &rest, "It is sunny.");
    assert!(pollster::block_on(reply.next()).is_none(), "nothing follows the end");
    assert!(reply.iter().next().is_none());
}

#[test]
fn streams_and_their_iterators_can_be_moved_to_other_threads() {
    fn check<T: Send + Unpin + 'static>() {}
    check::<ResponseStream>();
    check::<TextStream>();
    check::<causerie::BlockingIterator<ResponseStream>>();
    let n_events = std::thread::spawn(|| reply().into_iter().count()).join().unwrap();
    assert_eq!(n_events, reply().into_iter().count());
}

#[test]
fn a_poll_that_finds_nothing_is_pending() {
    let runner = ScriptedModel::new().reply(ScriptedReply::new().stall()).load().unwrap();
    let conversation = runner.create_conversation("");
    let mut reply = conversation.generate_response(ChatMessage::user("Well?"), GenerationOptions::default());
    let polled = pollster::block_on(future::poll_fn(|ctx| Poll::Ready(reply.poll_next_unpin(ctx).is_pending())));
    assert!(polled);
    let handle = reply.cancel_handle();
    handle.cancel();
    let end = reply.iter().try_for_each(|event| match event {
        Ok(MessageResponse::Complete(completion)) => ControlFlow::Break(completion),
        _ => ControlFlow::Continue(()),
    });
    assert!(end.is_break());
}
