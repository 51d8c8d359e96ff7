//! The tables of options, of their choices, and of facts about a model: the one place where each is written, for all languages.
//! `define` makes the types of this crate of them. What is here are macros, so it uses no module.

#[macro_use]
mod choices;
#[macro_use]
mod define;
mod facts;
#[macro_use]
mod options;
