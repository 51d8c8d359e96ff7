//! The functions as C calls them. `bindings/c/tests/tests.c` is a caller in C.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::mpsc;
use std::{fs, ptr};

use causerie::{Conversation, MessageResponse, ModelRunner};

use crate::border::caller::{buffer, bytes, flag, given, no_text, nowhere, out, text};
use crate::conversation::{causerie_conversation_ask, causerie_conversation_free, causerie_conversation_new};
use crate::embedding::{
    causerie_embedding_model_embed, causerie_embedding_model_free, causerie_embedding_model_load,
    causerie_embedding_model_rerank, causerie_model_decide,
};
use crate::event::{causerie_event_call, causerie_event_samples};
use crate::fault::{Fault, Status, guarded};
use crate::handles::Handle;
use crate::message::causerie_message_add_image;
use crate::model::{causerie_model_free, causerie_model_load_bytes, causerie_model_load_scripted};
use crate::options::{
    causerie_options_new, causerie_options_set_bool, causerie_options_set_integer, causerie_options_set_number, chosen,
};
use crate::stream::{Reply, causerie_stream_answer, causerie_stream_free, causerie_stream_next};
use crate::strings::{causerie_string_free, causerie_version};

fn scripted(script: &CStr) -> Handle<ModelRunner> {
    let mut model = Handle::NULL;
    assert_eq!(causerie_model_load_scripted(text(script), out(&mut model)), Status::Ok);
    model
}

/// The reason of the last failure on this thread.
fn reason() -> String {
    crate::border::caller::read(crate::fault::message())
}

/// The names of the functions that a file declares, by the text before them.
fn names<'a>(file: &'a str, before: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = file
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(before))
        .filter(|rest| rest.starts_with("causerie_"))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn the_header_declares_the_functions_that_there_are() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let sources: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let sources = sources.join("\n");
    let header = include_str!("../include/causerie.h");
    let defined = names(&sources, "fn ");
    assert!(40 < defined.len());
    assert_eq!(names(header, "causerie_status "), defined);
}

#[test]
fn null_freed_and_wrong_handles_are_errors() {
    let model = scripted(c"{\"replies\": [[\"Hello\"]]}");
    let mut conversation = Handle::NULL;
    let no_model = Handle::<ModelRunner>::NULL;
    assert_eq!(causerie_conversation_new(no_model, no_text(), out(&mut conversation)), Status::InvalidArgument);
    assert_eq!(reason(), "model must not be null");
    assert_eq!(causerie_conversation_new(model, no_text(), nowhere()), Status::InvalidArgument);
    assert_eq!(reason(), "conversation must not be null");
    assert_eq!(causerie_conversation_new(model, no_text(), out(&mut conversation)), Status::Ok);

    // A conversation is not a model.
    let other: Handle<ModelRunner> = conversation.cast();
    assert_eq!(causerie_model_free(other), Status::InvalidHandle);
    assert_eq!(reason(), "model must be a handle of its type that is not freed");

    assert_eq!(causerie_conversation_free(conversation), Status::Ok);
    assert_eq!(causerie_conversation_free(conversation), Status::InvalidHandle);
    let mut stream: Handle<Reply> = Handle::NULL;
    let asked = causerie_conversation_ask(conversation, text(c"Hi"), Handle::NULL, out(&mut stream));
    assert_eq!(asked, Status::InvalidHandle);
    assert_eq!(causerie_conversation_free(Handle::<Conversation>::NULL), Status::Ok);
    assert_eq!(causerie_model_free(model), Status::Ok);
}

#[test]
fn text_that_is_not_utf8_and_lengths_beyond_memory_are_errors() {
    let mut model = Handle::NULL;
    assert_eq!(causerie_model_load_scripted(text(c"\xFF"), out(&mut model)), Status::InvalidArgument);
    assert_eq!(reason(), "script must be UTF-8");
    let loaded = causerie_model_load_bytes(bytes(b"GGUF"), usize::MAX, Handle::NULL, out(&mut model));
    assert_eq!(loaded, Status::InvalidArgument);
    let loaded = causerie_model_load_bytes(bytes(b"GGUF"), 4, Handle::NULL, out(&mut model));
    assert_eq!(loaded, Status::ModelLoad);
    assert_eq!(causerie_message_add_image(Handle::NULL, bytes(b"x"), 1), Status::InvalidArgument);
}

#[test]
fn a_panic_becomes_a_status() {
    let status = guarded(|| -> Result<(), Fault> { std::panic::panic_any("on purpose".to_owned()) });
    assert_eq!((status, reason().as_str()), (Status::Internal, "causerie panicked: on purpose"));
    // The scripted model panics on the engine's thread.
    let model = scripted(c"{\"replies\": [[{\"panic\": true}]]}");
    let (mut conversation, mut stream, mut event) = (Handle::NULL, Handle::NULL, Handle::NULL);
    assert_eq!(causerie_conversation_new(model, no_text(), out(&mut conversation)), Status::Ok);
    assert_eq!(causerie_conversation_ask(conversation, text(c"Hi"), Handle::NULL, out(&mut stream)), Status::Ok);
    assert!([Status::Generation, Status::Internal].contains(&causerie_stream_next(stream, out(&mut event))));
}

#[test]
fn strings_are_freed_once() {
    let mut version: *const c_char = ptr::null();
    assert_eq!(causerie_version(out(&mut version)), Status::Ok);
    assert_eq!(causerie_string_free(given(version)), Status::Ok);
    assert_eq!(causerie_string_free(given(version)), Status::InvalidHandle);
    assert_eq!(causerie_string_free(no_text()), Status::Ok);
    assert_eq!(causerie_string_free(text(c"not causerie's")), Status::InvalidHandle);
}

#[test]
fn options_are_checked_by_name_and_type() {
    let mut options = Handle::NULL;
    assert_eq!(causerie_options_new(out(&mut options)), Status::Ok);
    assert_eq!(causerie_options_set_integer(options, text(c"max_tokens"), 3), Status::Ok);
    assert_eq!(causerie_options_set_integer(options, text(c"max_tokens"), -3), Status::InvalidOption);
    assert_eq!(reason(), "max_tokens must be an integer from 0 on, found -3");
    assert_eq!(causerie_options_set_number(options, text(c"temprature"), 0.5), Status::InvalidOption);
    assert_eq!(reason(), "there is no option temprature; did you mean temperature?");
    assert_eq!(causerie_options_set_number(options, text(c"temperature"), f64::NAN), Status::InvalidArgument);
}

#[test]
fn each_byte_but_zero_is_true() {
    let mut options = Handle::NULL;
    assert_eq!(causerie_options_new(out(&mut options)), Status::Ok);
    for byte in [2, 0, 255] {
        assert_eq!(causerie_options_set_bool(options, text(c"ignore_end"), flag(byte)), Status::Ok);
        assert_eq!(chosen(options).unwrap().generation.ignore_end, byte != 0);
    }
}

#[test]
fn errors_in_destructors_of_a_thread_do_not_abort() {
    /// Fails when the thread ends.
    struct Failing(mpsc::Sender<(Status, String)>);

    impl Drop for Failing {
        fn drop(&mut self) {
            let status = causerie_string_free(text(c"not causerie's"));
            drop(self.0.send((status, reason())));
        }
    }

    thread_local! {
        static FIRST: RefCell<Option<Failing>> = const { RefCell::new(None) };
        static LAST: RefCell<Option<Failing>> = const { RefCell::new(None) };
    }

    let (sender, receiver) = mpsc::channel();
    let fail = move || {
        // The message is made between the two, so that one of them is dropped after it, whatever the order is.
        FIRST.set(Some(Failing(sender.clone())));
        assert_eq!(causerie_string_free(text(c"not causerie's")), Status::InvalidHandle);
        LAST.set(Some(Failing(sender)));
    };
    std::thread::spawn(fail).join().unwrap();
    let failures: Vec<(Status, String)> = receiver.iter().collect();
    assert_eq!(failures.len(), 2);
    assert!(failures.iter().all(|(status, _)| *status == Status::InvalidHandle));
    assert!(failures.iter().any(|(_, reason)| reason == "the thread is ending"));
}

#[test]
fn an_event_has_only_what_its_kind_has() {
    let event = Handle::new(MessageResponse::AudioSample { samples: vec![0.25, 0.5, 0.75], sample_rate: 24_000 });
    let (mut samples, mut rate) = ([0.0_f32; 2], 0);
    assert_eq!(causerie_event_samples(event, buffer(&mut samples), 2, out(&mut rate)), Status::Ok);
    assert_eq!((samples, rate), ([0.25, 0.5], 24_000));
    let called = causerie_event_call(event, 0, nowhere(), nowhere(), nowhere());
    assert_eq!((called, reason().as_str()), (Status::NotAvailable, "an event of this kind has no calls"));
}

#[test]
fn a_stream_that_is_freed_ends_for_the_thread_that_waits_for_it() {
    let model = scripted(c"{\"replies\": [[{\"stall\": true}]]}");
    let (mut conversation, mut stream) = (Handle::NULL, Handle::NULL);
    assert_eq!(causerie_conversation_new(model, no_text(), out(&mut conversation)), Status::Ok);
    let asked = causerie_conversation_ask(conversation, text(c"Hi"), Handle::NULL, out(&mut stream));
    assert_eq!(asked, Status::Ok);
    assert_eq!(causerie_stream_answer(stream, 0, 0, text(c"x")), Status::InvalidArgument);
    let waiting = std::thread::spawn(move || {
        let mut event: Handle<MessageResponse> = Handle::NULL;
        causerie_stream_next(stream, out(&mut event))
    });
    assert_eq!(causerie_stream_free(stream), Status::Ok);
    // Either the thread had the stream already, and gets its last event, or it came too late.
    assert!([Status::Ok, Status::InvalidHandle].contains(&waiting.join().unwrap()));
}

#[test]
fn embeddings_and_rankings_are_given() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/models/bert");
    let path = std::ffi::CString::new(path).unwrap();
    let mut model = Handle::NULL;
    assert_eq!(causerie_embedding_model_load(text(&path), text(c"{\"threads\": 1}"), out(&mut model)), Status::Ok);
    let (mut values, mut count, mut details) = ([0.0f32; 40], 0, ptr::null());
    let request = c"{\"texts\": [\"bread\", \"a rocket\"]}";
    let status = causerie_embedding_model_embed(
        model,
        text(request),
        buffer(&mut values),
        40,
        out(&mut count),
        out(&mut details),
    );
    assert_eq!((status, count), (Status::Ok, 64));
    // The first vector, whose length is 1, and the beginning of the second.
    let length = values[..32].iter().map(|value| value * value).sum::<f32>();
    assert!((length - 1.0).abs() < 1e-5, "found {length}"); // the rounding of 32 values in F32
    assert!(values[32..].iter().all(|value| *value != 0.0));
    assert!(crate::border::caller::read(details).contains("token_count"));
    assert_eq!(causerie_string_free(given(details)), Status::Ok);
    let mut ranking = ptr::null();
    let status =
        causerie_embedding_model_rerank(model, text(c"{\"query\": \"a\", \"documents\": [\"b\"]}"), out(&mut ranking));
    assert_eq!(status, Status::UnsupportedContent);
    assert_eq!(causerie_embedding_model_free(model), Status::Ok);
    let status = causerie_embedding_model_embed(model, text(request), buffer(&mut values), 40, nowhere(), nowhere());
    assert_eq!(status, Status::InvalidHandle);
}

#[test]
fn wrong_decisions_are_refused_by_name() {
    let model = scripted(c"{\"replies\": []}");
    let mut decisions = ptr::null();
    let status = causerie_model_decide(model, text(c"{\"questions\": [{\"type\": \"riddle\"}]}"), out(&mut decisions));
    assert_eq!(status, Status::InvalidArgument);
    assert!(reason().contains("questions[0]"), "{}", reason());
    assert_eq!(causerie_model_decide(model, text(c"{"), nowhere()), Status::InvalidArgument);
    assert_eq!(causerie_model_free(model), Status::Ok);
}
