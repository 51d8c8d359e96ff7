//! Reads scripts in JSON, which the tests of all languages share.

use serde::Deserialize;

use crate::error::{ErrorKind, Result, SdkError};
use crate::testing::model::ScriptedModel;
use crate::testing::reply::ScriptedReply;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    replies: Vec<Vec<StepEntry>>,
    context_size: Option<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StepEntry {
    Text(String),
    Other(OtherStep),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum OtherStep {
    Bytes(Vec<u8>),
    Control(String),
    Fail(String),
    Stall(bool),
    Panic(bool),
}

impl ScriptedModel {
    /// Reads a script from JSON text: `{"replies": [[step, …], …], "context_size"?}`. A step is a string, or one of
    /// `{"bytes": [226, 130]}`, `{"control": "<|tool_call_start|>"}`, `{"fail": "message"}`, `{"stall": true}` and
    /// `{"panic": true}`.
    ///
    /// ```
    /// let runner = causerie::testing::ScriptedModel::from_json(r#"{"replies": [["Hello."], ["Bye."]]}"#)?.load()?;
    /// # Ok::<(), causerie::SdkError>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] if the text is not such a script.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: ScriptFile = serde_json::from_str(text).map_err(|err| {
            SdkError::new(ErrorKind::Serialization, "the script must be an object of replies").caused_by(err)
        })?;
        let replies = file.replies.into_iter().map(|steps| steps.into_iter().fold(ScriptedReply::new(), add)).collect();
        Ok(Self { replies, context_size: file.context_size })
    }
}

fn add(reply: ScriptedReply, step: StepEntry) -> ScriptedReply {
    match step {
        StepEntry::Text(text) => reply.text(text),
        StepEntry::Other(OtherStep::Bytes(bytes)) => reply.bytes(bytes),
        StepEntry::Other(OtherStep::Control(spelling)) => reply.control(&spelling),
        StepEntry::Other(OtherStep::Fail(message)) => reply.fail(message),
        StepEntry::Other(OtherStep::Stall(true)) => reply.stall(),
        StepEntry::Other(OtherStep::Panic(true)) => reply.panic(),
        StepEntry::Other(OtherStep::Stall(false) | OtherStep::Panic(false)) => reply,
    }
}
