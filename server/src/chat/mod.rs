//! `causerie chat`: the five steps of a function call, over and over.

mod terminal;

use std::sync::Arc;

use causerie::{
    ChatMessage, Conversation, FinishReason, GenerationOptions, MessageResponse, ResponseStream, Role, SdkFunctionCall,
    ToolCallConstraint,
};
use jiff::Zoned;

use crate::arguments::Chat;
use crate::folder::data_folder;
use crate::functions::{Functions, definitions};
use crate::{Failure, inspect, interrupt, model};

use terminal::{Terminal, ring};

/// Rounds of calls that one message may lead to, so that a model cannot call without end.
const MOST_ROUNDS: usize = 8;
/// Messages that the demo model sees of the person: it has learned from conversations not much longer, and would garble its
/// answers in them.
const DEMO_TURNS: usize = 10;

pub(crate) fn run(arguments: &Chat) -> Result<(), Failure> {
    // A small model makes more of its calls rightly so: models/README.md has both.
    let options = GenerationOptions { tool_call_constraint: ToolCallConstraint::Typed, ..arguments.sampling.options() };
    options.check()?;
    let offered = match &arguments.functions {
        Some(file) => inspect::read_functions(file)?,
        None => definitions()?,
    };
    let runner = model::load(arguments.model.name.as_deref(), arguments.context.size)?;
    let system = arguments.system.as_deref().unwrap_or(include_str!("system_prompt.txt"));
    let conversation = runner.create_conversation(system);
    let terminal = Terminal::new(arguments.show_calls);
    if runner.supports_function_calling() {
        for function in offered {
            conversation.register_function(function)?;
        }
    } else {
        terminal.complain("the model's chat template offers no functions: it can only talk");
    }
    let functions = arguments.functions.is_none().then(|| Functions::new(&data_folder(), Zoned::now)).map(Arc::new);
    let most_turns = arguments.model.name.is_none().then_some(DEMO_TURNS);
    let mut chat = Session { conversation, functions, options, terminal, most_turns };
    match &arguments.prompt {
        Some(prompt) => chat.answer_once(prompt),
        None => chat.converse(),
    }
}

struct Session {
    conversation: Conversation,
    /// `None` when the person gives the results.
    functions: Option<Arc<Functions>>,
    options: GenerationOptions,
    terminal: Terminal,
    /// How many turns the model sees, the newest among them; `None` for all.
    most_turns: Option<usize>,
}

impl Session {
    fn converse(&mut self) -> Result<(), Failure> {
        self.terminal.greet(&self.conversation.functions());
        if let Some(functions) = &self.functions {
            ring(Arc::clone(functions), self.terminal.printer());
        }
        while let Some(line) = self.terminal.read_line()? {
            if line.trim().is_empty() {
                continue;
            }
            // What goes wrong with one message is told, and the conversation goes on.
            if let Err(failure) = self.reply_to(&line) {
                self.terminal.complain(&failure.0);
            }
        }
        interrupt::forget();
        Ok(())
    }

    fn answer_once(&mut self, prompt: &str) -> Result<(), Failure> {
        let n_before = self.n_timers();
        self.reply_to(prompt)?;
        if n_before < self.n_timers() {
            self.terminal.remark("The timer is kept, and rings while `causerie chat` is open.");
        }
        Ok(())
    }

    fn n_timers(&self) -> usize {
        let timers = self.functions.as_ref().and_then(|functions| functions.timers().running(&Zoned::now()).ok());
        timers.map_or(0, |timers| timers.len())
    }

    /// Leaves out the oldest turns, so that there is room for one more.
    fn forget(&mut self) {
        let Some(n_kept) = self.most_turns.map(|most| most - 1) else { return };
        let mut history = self.conversation.history();
        let turns: Vec<usize> = (0..history.len()).filter(|at| history[*at].role == Role::User).collect();
        if n_kept < turns.len() {
            history.drain(turns[0]..turns[turns.len() - n_kept]);
            self.conversation = self.conversation.model_runner().create_conversation_from_history(history);
        }
    }

    fn reply_to(&mut self, text: &str) -> Result<(), Failure> {
        self.forget();
        let mut reply = self.conversation.generate_response(ChatMessage::user(text), self.options.clone());
        for _ in 0..MOST_ROUNDS {
            let calls = self.show(&mut reply)?;
            if calls.is_empty() {
                return Ok(());
            }
            for call in &calls {
                let result = self.result_of(call)?;
                self.conversation.append_to_history(ChatMessage::tool(result))?;
            }
            reply = self.conversation.continue_response(self.options.clone());
        }
        Err(Failure(format!("the model called functions {MOST_ROUNDS} times without an answer")))
    }

    /// Prints a reply as it comes, and returns the calls it made.
    fn show(&mut self, reply: &mut ResponseStream) -> Result<Vec<SdkFunctionCall>, Failure> {
        interrupt::cancels(reply);
        let mut calls = Vec::new();
        while let Some(event) = Iterator::next(reply) {
            match event {
                Ok(MessageResponse::Chunk(text)) => self.terminal.text(&text)?,
                Ok(MessageResponse::ReasoningChunk(text)) => self.terminal.reasoning(&text)?,
                Ok(MessageResponse::FunctionCallsRejected(rejected)) => self.terminal.rejected(&rejected)?,
                Ok(MessageResponse::Complete(completion)) => {
                    self.terminal.end_line()?;
                    let made = completion.full_message.function_calls.unwrap_or_default();
                    let cut = match completion.finish_reason {
                        FinishReason::Interrupted => "cancelled",
                        FinishReason::MaxTokens => "cut off: the token limit is reached",
                        FinishReason::ExceedContext => "cut off: the context is full",
                        FinishReason::Constraint => "cut off: nothing fits the constraint",
                        _ => {
                            calls = made;
                            continue;
                        }
                    };
                    self.terminal.complain(cut);
                    // Calls are not left without results, which models would wonder about.
                    for _ in made {
                        self.conversation.append_to_history(ChatMessage::tool(r#"{"error": "cancelled"}"#))?;
                    }
                }
                Ok(_) => {}
                Err(err) => {
                    self.terminal.end_line()?;
                    interrupt::ends();
                    return Err(err.into());
                }
            }
        }
        interrupt::ends();
        Ok(calls)
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
