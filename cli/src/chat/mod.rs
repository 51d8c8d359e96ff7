//! `causerie chat`: a conversation on the terminal, in which the model may call functions.

mod commands;
mod greeting;
mod markdown;
mod progress;
mod terminal;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use causerie::{
    ChatMessage, ChatMessageContent, Conversation, DiagnosticCode, FinishReason, GenerationOptions, MessageResponse,
    ResponseStream, Role, SdkFunctionCall, ToolCallConstraint,
};
use jiff::Zoned;

use crate::arguments::ChatArguments;
use crate::failure::Failure;
use crate::folder::data_folder;
use crate::functions::{BuiltInFunctions, ListFile, definitions, read_definitions};
use crate::interrupt;
use crate::model::{LocalModel, load_options};
use crate::output;

use commands::{ChatCommand, HELP};
use terminal::{ChatTerminal, ring};

/// Maximum rounds of calls per message, so that a model cannot call functions forever.
const MAX_ROUNDS: usize = 8;
/// Number of user messages in the demo model's prompts. It was trained on conversations of about this length, and its answers
/// in longer ones are garbled.
const DEMO_TURNS: usize = 10;

pub(crate) fn run(arguments: &ChatArguments, model: &LocalModel) -> Result<(), Failure> {
    // With the constraint, a small model gets more calls right: models/README.md has the figures.
    let options = GenerationOptions { tool_call_constraint: ToolCallConstraint::Typed, ..arguments.sampling.options() };
    options.check()?;
    let offered = match &arguments.functions {
        Some(file) => read_definitions(file)?,
        None => definitions()?,
    };
    let runner = model.load(arguments.loading.add_to(load_options(arguments.context.size)))?;
    let system = arguments.system.as_deref().unwrap_or(causerie_server::chat::SYSTEM_PROMPT);
    let conversation = runner.create_conversation(system);
    let terminal = ChatTerminal::new(arguments.show_calls, ListFile::new(data_folder().join("lines.json")));
    if runner.supports_function_calling() {
        for function in offered {
            conversation.register_function(function)?;
        }
    } else {
        terminal.warn("the model's chat template does not support functions: the model can only talk");
    }
    let functions =
        arguments.functions.is_none().then(|| BuiltInFunctions::new(&data_folder(), Zoned::now)).map(Arc::new);
    let max_turns = model.name().is_none().then_some(DEMO_TURNS);
    let images = arguments.image.iter().map(|file| Ok(ChatMessageContent::Image(read(file)?)));
    let recordings = arguments.audio.iter().map(|file| Ok(ChatMessageContent::Audio(read(file)?)));
    let shown = images.chain(recordings).collect::<Result<_, Failure>>()?;
    let described = match model.name() {
        Some(name) => greeting::of_model(name, runner.info(), runner.context_size()),
        None => greeting::of_demo(runner.info()),
    };
    let mut chat = ChatLoop { conversation, functions, options, terminal, max_turns, shown };
    // A recording says what is wanted, so no text is needed beside it.
    let prompt = arguments.prompt.as_deref().or((!arguments.audio.is_empty()).then_some(""));
    if chat.terminal.is_interactive() && prompt.is_none() {
        chat.terminal.greet(&described, &chat.conversation.functions())?;
    } else if model.name().is_none() {
        chat.terminal.mention(&described);
    }
    match prompt {
        Some(prompt) => chat.answer_once(prompt),
        None => chat.converse(),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|err| Failure(format!("cannot read {}: {err}", file.display())))
}

struct ChatLoop {
    conversation: Conversation,
    /// `None` if the user types the results.
    functions: Option<Arc<BuiltInFunctions>>,
    options: GenerationOptions,
    terminal: ChatTerminal,
    /// Number of recent turns in the prompt; `None` for all.
    max_turns: Option<usize>,
    /// Pictures and recordings to show with the next message.
    shown: Vec<ChatMessageContent>,
}

impl ChatLoop {
    fn converse(&mut self) -> Result<(), Failure> {
        if let Some(functions) = &self.functions {
            ring(Arc::clone(functions), self.terminal.printer());
        }
        while let Some(line) = self.terminal.read_line()? {
            if line.trim().is_empty() {
                continue;
            }
            let done = match ChatCommand::read(&line) {
                Some(ChatCommand::Quit) => break,
                Some(command) => self.run_command(command),
                None => self.reply_to(&line),
            };
            match done {
                // Nobody can read any reply.
                Err(failure) if output::has_failed() => return Err(failure),
                // The conversation continues after a failure.
                Err(failure) => self.terminal.warn(&failure.0),
                Ok(()) => {}
            }
        }
        interrupt::forget_press();
        Ok(())
    }

    fn run_command(&mut self, command: ChatCommand<'_>) -> Result<(), Failure> {
        match command {
            ChatCommand::Help => self.terminal.remark(HELP),
            ChatCommand::System(None) => self.terminal.remark(&self.system_prompt()),
            ChatCommand::System(Some(text)) => self.set_system_prompt(text),
            ChatCommand::Save(file) => {
                self.conversation.save_session(file, false)?;
                self.terminal.remark(&format!("saved {} to {}", self.described(), file.display()));
            }
            ChatCommand::Load(file) => self.load(file)?,
            ChatCommand::Retry => self.retry()?,
            ChatCommand::Invalid(problem) => return Err(Failure(problem)),
            ChatCommand::Quit => {}
        }
        Ok(())
    }

    fn system_prompt(&self) -> String {
        let history = self.conversation.history();
        let system = history.first().filter(|first| first.role == Role::System).map(ChatMessage::text);
        system.filter(|text| !text.is_empty()).unwrap_or_else(|| "the system prompt is empty".to_owned())
    }

    /// Replaces the system prompt. The conversation and its functions stay.
    fn set_system_prompt(&mut self, text: &str) {
        let mut history = self.conversation.history();
        match history.first_mut().filter(|first| first.role == Role::System) {
            Some(system) => system.content = vec![ChatMessageContent::Text(text.to_owned())],
            None => history.insert(0, ChatMessage::system(text)),
        }
        self.conversation = self.conversation.model_runner().create_conversation_from_history(history);
    }

    fn load(&mut self, file: &Path) -> Result<(), Failure> {
        self.conversation = self.conversation.model_runner().restore_session(file)?;
        self.terminal.remark(&format!("loaded {} from {}", self.described(), file.display()));
        Ok(())
    }

    /// The length of the conversation, in words.
    fn described(&self) -> String {
        match self.conversation.history().iter().filter(|message| message.role == Role::User).count() {
            1 => "a conversation of 1 message".to_owned(),
            n => format!("a conversation of {n} messages"),
        }
    }

    /// Replies to the last message again, as if the reply had not been.
    fn retry(&mut self) -> Result<(), Failure> {
        let mut history = self.conversation.history();
        let Some(at) = history.iter().rposition(|message| message.role == Role::User) else {
            return Err(Failure("/retry must follow a message".to_owned()));
        };
        self.conversation.truncate(at)?;
        self.reply_to_message(history.swap_remove(at))
    }

    fn answer_once(&mut self, prompt: &str) -> Result<(), Failure> {
        let n_before = self.n_timers();
        self.reply_to(prompt)?;
        if n_before < self.n_timers() {
            self.terminal.remark("The timer is saved, and rings while `causerie chat` is open.");
        }
        Ok(())
    }

    fn n_timers(&self) -> usize {
        let timers = self.functions.as_ref().and_then(|functions| functions.timers().running(&Zoned::now()).ok());
        timers.map_or(0, |timers| timers.len())
    }

    /// Removes the oldest turns from the conversation, so that one more fits.
    fn forget_oldest_turns(&mut self) {
        let Some(n_kept) = self.max_turns.map(|n_turns| n_turns - 1) else { return };
        let mut history = self.conversation.history();
        let turns: Vec<usize> = (0..history.len()).filter(|at| history[*at].role == Role::User).collect();
        if n_kept < turns.len() {
            history.drain(turns[0]..turns[turns.len() - n_kept]);
            self.conversation = self.conversation.model_runner().create_conversation_from_history(history);
        }
    }

    fn reply_to(&mut self, text: &str) -> Result<(), Failure> {
        let mut message = ChatMessage::user(text);
        message.content.splice(0..0, self.shown.drain(..));
        self.reply_to_message(message)
    }

    fn reply_to_message(&mut self, message: ChatMessage) -> Result<(), Failure> {
        self.forget_oldest_turns();
        let mut reply = self.conversation.generate_response(message, self.options.clone());
        for _ in 0..MAX_ROUNDS {
            let calls = self.show(&mut reply)?;
            if calls.is_empty() {
                return Ok(());
            }
            for call in &calls {
                let result = self.result_of(call)?;
                self.conversation.append_to_history(ChatMessage::tool(result))?;
            }
            if interrupt::was_pressed() {
                self.terminal.warn("cancelled");
                return Ok(());
            }
            reply = self.conversation.continue_response(self.options.clone());
        }
        Err(Failure(format!("the model called functions in {MAX_ROUNDS} rounds without an answer")))
    }

    /// Prints a reply while it is generated, and returns its calls.
    fn show(&mut self, reply: &mut ResponseStream) -> Result<Vec<SdkFunctionCall>, Failure> {
        interrupt::cancel_on_press(reply);
        self.terminal.begin_reply(reply.prefill_progress());
        let mut calls = Vec::new();
        while let Some(event) = reply.iter().next() {
            match event {
                Ok(MessageResponse::Chunk(text)) => self.terminal.text(&text)?,
                Ok(MessageResponse::ReasoningChunk(text)) => self.terminal.reasoning(&text)?,
                Ok(MessageResponse::FunctionCallsRejected(rejected)) => self.terminal.rejected(&rejected)?,
                Ok(MessageResponse::Complete(completion)) => {
                    self.terminal.end_line()?;
                    if completion.diagnostics.iter().any(|found| found.code == DiagnosticCode::RepeatedTail) {
                        self.terminal.warn("ended: the reply only repeated itself");
                    }
                    let made = completion.full_message.function_calls.unwrap_or_default();
                    let cut = match completion.finish_reason {
                        FinishReason::Interrupted => "cancelled",
                        FinishReason::MaxTokens => "cut off: the token limit is reached",
                        FinishReason::ExceedContext => "cut off: the context is full",
                        FinishReason::Constraint => "cut off: no token fits the constraint",
                        _ => {
                            calls = made;
                            continue;
                        }
                    };
                    self.terminal.warn(cut);
                    // Every call gets a result: models expect one.
                    for _ in made {
                        self.conversation.append_to_history(ChatMessage::tool(r#"{"error": "cancelled"}"#))?;
                    }
                }
                Ok(_) => {}
                Err(err) => {
                    self.terminal.end_line()?;
                    self.end_interrupts();
                    return Err(err.into());
                }
            }
        }
        self.end_interrupts();
        Ok(calls)
    }

    /// The reply has ended. At the prompt of a terminal, Ctrl-C is a key, so a press before it was meant for the reply.
    fn end_interrupts(&self) {
        if self.terminal.is_interactive() { interrupt::outlive_press() } else { interrupt::end_on_press() }
    }

    fn result_of(&mut self, call: &SdkFunctionCall) -> Result<String, Failure> {
        self.terminal.call(call, self.functions.is_none())?;
        match &self.functions {
            Some(functions) => {
                let result = functions.run(call);
                self.terminal.result(&result)?;
                Ok(result)
            }
            None => self.terminal.ask_result(&call.name),
        }
    }
}
