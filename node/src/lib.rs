//! The native part of the Node package: models, conversations and streams, whose values are passed as JSON. `index.js` makes the
//! package's own classes of them, and is the only user.

pub mod embedding;
mod event;
mod failure;
mod values;

use std::sync::Arc;

use causerie::testing::ScriptedModel;
use causerie::{
    CancelHandle, FunctionHandlers, FunctionOutcome, ResponseStream, functions_from_json, functions_to_json,
    messages_from_json, messages_to_json,
};
use causerie_plain::{DecideRequest, decisions_json};
use futures_util::lock::Mutex;
use napi::bindgen_prelude::Float32Array;
use napi_derive::napi;

use crate::event::event_json;
use crate::failure::{failed, failed_with};
use crate::values::{info_json, message_of, options_of, outcome};

/// A loaded model.
#[napi]
pub struct NativeModel {
    runner: causerie::ModelRunner,
}

/// A conversation.
#[napi]
pub struct NativeConversation {
    conversation: causerie::Conversation,
}

/// The stream of a reply.
#[napi]
pub struct NativeStream {
    stream: Arc<Mutex<ResponseStream>>,
    /// What the next pull hands over, so that answering never waits for the lock of the stream.
    outcomes: parking_lot::Mutex<Vec<FunctionOutcome>>,
    cancel: CancelHandle,
}

/// An event as JSON. Sound is beside it, because it would be long.
#[napi(object)]
pub struct NativeEvent {
    /// The event.
    pub json: String,
    /// Mono samples, if the event has some.
    pub samples: Option<Float32Array>,
}

/// Loads a model. Options are a JSON object with the names of Rust.
#[napi]
pub async fn load_model(path: String, options: String) -> napi::Result<NativeModel> {
    let options = options_of(&options)?.loading;
    let load = move || causerie::ModelRunner::load_with(&path, options);
    let loaded =
        napi::bindgen_prelude::spawn_blocking(load).await.map_err(|err| failed_with("internal", &err.to_string()))?;
    Ok(NativeModel { runner: loaded.map_err(failed)? })
}

/// Loads a model that follows a script, for tests of apps.
#[napi]
pub fn load_scripted_model(script: String) -> napi::Result<NativeModel> {
    let runner = ScriptedModel::from_json(&script).and_then(ScriptedModel::load).map_err(failed)?;
    Ok(NativeModel { runner })
}

/// Facts from the headers of a model's files, as JSON. Nothing is loaded.
#[napi]
pub fn read_model_info(path: String) -> napi::Result<String> {
    let info = causerie::ModelInfo::read(&path).map_err(failed)?;
    let context_size = info.context_size.min(causerie::LoadOptions::DEFAULT_CONTEXT_SIZE);
    Ok(info_json(&info, context_size))
}

#[napi]
impl NativeModel {
    /// Facts about the model, as JSON.
    #[napi]
    pub fn info(&self) -> String {
        info_json(self.runner.info(), self.runner.context_size())
    }

    /// Why the model is not computed on the GPU that its options ask for.
    #[napi]
    pub fn device_note(&self) -> Option<String> {
        self.runner.device_note()
    }

    /// Creates a conversation.
    #[napi]
    pub fn create_conversation(&self, system_prompt: String) -> NativeConversation {
        NativeConversation { conversation: self.runner.create_conversation(&system_prompt) }
    }

    /// Creates a conversation that continues a history.
    #[napi]
    pub fn create_conversation_from_history(&self, messages: String) -> napi::Result<NativeConversation> {
        let history = messages_from_json(&messages).map_err(failed)?;
        Ok(NativeConversation { conversation: self.runner.create_conversation_from_history(history) })
    }

    /// Restores a conversation from a file.
    #[napi]
    pub fn restore_session(&self, path: String) -> napi::Result<NativeConversation> {
        Ok(NativeConversation { conversation: self.runner.restore_session(path).map_err(failed)? })
    }

    /// The token ids of a text.
    #[napi]
    pub fn tokenize(&self, text: String) -> napi::Result<Vec<u32>> {
        self.runner.tokenize(&text).map_err(failed)
    }

    /// Completes a prompt as it stands.
    #[napi]
    pub fn complete(&self, prompt: String, options: String) -> napi::Result<NativeStream> {
        Ok(NativeStream::new(self.runner.complete(prompt, options_of(&options)?.generation)))
    }

    /// Answers questions about a state: a request and answers as JSON.
    #[napi]
    pub async fn decide(&self, request: String) -> napi::Result<String> {
        let DecideRequest { state, questions, options } = DecideRequest::from_json(&request).map_err(failed)?;
        Ok(decisions_json(&self.runner.decide_async(state, questions, options).await.map_err(failed)?))
    }

    /// Sets the model that chooses among the functions of conversations.
    #[napi]
    pub fn set_function_ranker(&self, ranker: &embedding::NativeEmbeddingModel) -> napi::Result<()> {
        self.runner.set_function_ranker(&ranker.model).map_err(failed)
    }

    /// Cancels all replies of the model and frees its memory.
    #[napi]
    pub async fn unload(&self) -> napi::Result<()> {
        self.runner.unload().await;
        Ok(())
    }
}

#[napi]
impl NativeConversation {
    /// The messages so far, as JSON.
    #[napi]
    pub fn history(&self) -> String {
        messages_to_json(&self.conversation.history())
    }

    /// The registered functions, as chat completions' `tools`.
    #[napi]
    pub fn functions(&self) -> String {
        functions_to_json(&self.conversation.functions())
    }

    /// Whether a reply is being generated, or waits for its turn.
    #[napi]
    pub fn is_generating(&self) -> bool {
        self.conversation.is_generating()
    }

    /// Offers functions, given as `tools`.
    #[napi]
    pub fn register_functions(&self, tools: String) -> napi::Result<()> {
        let functions = functions_from_json(&tools).map_err(failed)?;
        self.conversation.register_functions(functions).map_err(failed)
    }

    /// Stops offering a function. Returns false if none has this name.
    #[napi]
    pub fn unregister_function(&self, name: String) -> napi::Result<bool> {
        self.conversation.unregister_function(&name).map_err(failed)
    }

    /// Adds a message without a reply.
    #[napi]
    pub fn append(&self, message: String) -> napi::Result<()> {
        self.conversation.append_to_history(message_of(&message)?).map_err(failed)
    }

    /// Removes the last message, and returns it as an array of none or one.
    #[napi]
    pub fn remove_last(&self) -> napi::Result<String> {
        let removed = self.conversation.remove_last_message().map_err(failed)?;
        Ok(messages_to_json(removed.as_slice()))
    }

    /// Keeps the first messages only.
    #[napi]
    pub fn truncate(&self, count: u32) -> napi::Result<()> {
        self.conversation.truncate(count as usize).map_err(failed) // a usize has at least 32 bits
    }

    /// An independent conversation with the same history.
    #[napi]
    pub fn fork(&self) -> Self {
        Self { conversation: self.conversation.fork() }
    }

    /// The number of tokens of the prompt for the history as it stands.
    #[napi]
    pub fn prompt_token_count(&self) -> napi::Result<f64> {
        Ok(self.conversation.prompt_token_count().map_err(failed)? as f64) // far below 2^53
    }

    /// Saves the conversation to a file.
    #[napi]
    pub fn save_session(&self, path: String, include_cache: bool) -> napi::Result<()> {
        self.conversation.save_session(path, include_cache).map_err(failed)
    }

    /// The stream of the reply to a message, or to the history as it stands. With `run`, the names of functions, the reader of
    /// the stream runs their calls; `tools` are offered with them.
    #[napi]
    pub fn start(
        &self,
        message: Option<String>,
        options: String,
        run: Option<Vec<String>>,
        tools: Option<String>,
    ) -> napi::Result<NativeStream> {
        let options = options_of(&options)?;
        let message = message.map(|message| message_of(&message)).transpose()?;
        let Some(run) = run else {
            return Ok(NativeStream::new(match message {
                Some(message) => self.conversation.generate_response(message, options.generation),
                None => self.conversation.continue_response(options.generation),
            }));
        };
        let offered = tools.map(|tools| functions_from_json(&tools)).transpose().map_err(failed)?;
        let handlers =
            FunctionHandlers::new().run_by_reader(run).offer(offered.unwrap_or_default()).with(options.rounds);
        Ok(NativeStream::new(match message {
            Some(message) => self.conversation.respond_with_functions(message, &handlers, options.generation),
            None => self.conversation.continue_with_functions(&handlers, options.generation),
        }))
    }
}

impl NativeStream {
    fn new(stream: ResponseStream) -> Self {
        let cancel = stream.cancel_handle();
        Self { stream: Arc::new(Mutex::new(stream)), outcomes: parking_lot::Mutex::default(), cancel }
    }
}

#[napi]
impl NativeStream {
    /// The next event; null after the last one.
    #[napi]
    pub async fn next(&self) -> napi::Result<Option<NativeEvent>> {
        let mut stream = self.stream.lock().await;
        let outcomes = std::mem::take(&mut *self.outcomes.lock());
        if !outcomes.is_empty() {
            stream.answer(outcomes);
        }
        let Some(event) = stream.next().await else { return Ok(None) };
        let (json, samples) = event_json(event.map_err(failed)?);
        Ok(Some(NativeEvent { json: json.to_string(), samples: samples.map(Float32Array::new) }))
    }

    /// Answers the calls of the last `runFunctions`: a JSON array of `{"value"}`, `{"failed"}` or `{"timedOut"}`.
    #[napi]
    pub fn answer(&self, outcomes: Vec<String>) {
        *self.outcomes.lock() = outcomes.iter().map(|text| outcome(text)).collect();
    }

    /// Stops the reply within one token.
    #[napi]
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}
