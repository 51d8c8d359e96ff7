//! The functions that a conversation offers to the model.

use crate::conversation::messages::Conversation;
use crate::error::Result;
use crate::function::SdkFunction;
use crate::message::{ChatMessage, ChatMessageContent, Role};

impl Conversation {
    /// The registered functions.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.register_function(causerie::SdkFunction::new("now", "Return the time.", vec![]))?;
    /// assert_eq!(conversation.functions()[0].name, "now");
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn functions(&self) -> Vec<SdkFunction> {
        self.requests.history().into_iter().flat_map(|message| message.functions).collect()
    }

    /// Offers a function to the model. It replaces a function of the same name in place.
    ///
    /// ```
    /// use causerie::{ErrorKind, SdkFunction};
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.register_function(SdkFunction::new("now", "Return the time.", vec![]))?;
    /// let err = conversation.register_function(SdkFunction::new("tell time", "", vec![])).unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::InvalidFunction);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidFunction`](crate::ErrorKind::InvalidFunction) if [`SdkFunction::check_with`] refuses the function
    /// under the rule for names that the model was [loaded](crate::LoadOptions::function_names) with,
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) during a generation.
    pub fn register_function(&self, function: SdkFunction) -> Result<()> {
        self.register_functions(vec![function])
    }

    /// Offers several functions to the model, all or none.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// let tools = r#"[{"name": "now", "description": "Return the time."}, {"name": "today"}]"#;
    /// conversation.register_functions(causerie::functions_from_json(tools)?)?;
    /// assert_eq!(conversation.functions().len(), 2);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`register_function`](Self::register_function).
    pub fn register_functions(&self, functions: Vec<SdkFunction>) -> Result<()> {
        functions.iter().try_for_each(|function| function.check_with(self.runner.function_names()))?;
        self.requests.edit(|history| functions.into_iter().for_each(|function| register(history, function)))
    }

    /// Offers a function like [`register_function`](Self::register_function), for callers that cannot handle an error here: the
    /// next reply reports it instead, once, as its first event.
    ///
    /// ```
    /// use causerie::{ChatMessage, ErrorKind, GenerationOptions, SdkFunction};
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.offer_function(SdkFunction::new("tell time", "", vec![]));
    /// let mut reply = conversation.generate_response(ChatMessage::user("Hi"), GenerationOptions::default());
    /// let err = reply.iter().next().unwrap().unwrap_err();
    /// assert_eq!(err.kind(), ErrorKind::InvalidFunction);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    pub fn offer_function(&self, function: SdkFunction) {
        if let Err(err) = self.register_function(function) {
            self.requests.refuse_next(err);
        }
    }

    /// Stops offering a function. Returns false if none has this name.
    ///
    /// ```
    /// # let conversation = causerie::testing::ScriptedModel::new().load()?.create_conversation("");
    /// conversation.register_function(causerie::SdkFunction::new("now", "Return the time.", vec![]))?;
    /// assert!(conversation.unregister_function("now")?);
    /// assert!(!conversation.unregister_function("now")?);
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) during a generation.
    pub fn unregister_function(&self, name: &str) -> Result<bool> {
        self.requests.edit(|history| {
            let is_it = |function: &SdkFunction| function.name == name;
            let Some(at) = history.iter().position(|message| message.functions.iter().any(is_it)) else { return false };
            history[at].functions.retain(|function| !is_it(function));
            // A system message that carried only functions is removed with the last one.
            if history[at].functions.is_empty() && is_blank(&history[at]) {
                history.remove(at);
            }
            true
        })
    }
}

/// The system message carries the functions, so that a history is complete in itself.
pub(super) fn register(history: &mut Vec<ChatMessage>, function: SdkFunction) {
    if history.first().is_none_or(|message| message.role != Role::System) {
        history.insert(0, ChatMessage::with_functions(Vec::new()));
    }
    let functions = &mut history[0].functions;
    match functions.iter_mut().find(|registered| registered.name == function.name) {
        Some(registered) => *registered = function,
        None => functions.push(function),
    }
}

/// Whether a message has no content but empty text.
pub(super) fn is_blank(message: &ChatMessage) -> bool {
    message.content.iter().all(|part| matches!(part, ChatMessageContent::Text(text) if text.is_empty()))
}
