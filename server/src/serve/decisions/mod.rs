//! `POST /v1/decisions` and `POST /v1/systemone`: questions about an input, answered with probabilities and without text.
//!
//! [`openai`] and [`systemone`] read the two forms of requests and write their answers; [`input`] and [`parts`] read what the first
//! form has in common with others; [`request`] is what both become.

mod input;
mod openai;
mod parts;
mod request;
mod systemone;

pub(super) use openai::{OpenAiDecisionFields, read};
pub(super) use request::{DecisionRequest, ReadingFields};
pub use systemone::decision_question;
pub(super) use systemone::{SystemOneFields, read as read_systemone};
