//! The one internal form of a request.

use causerie::{ChatMessage, GenerationOptions, SdkFunction, SoundFormat};

use crate::serve::request::delivery::Delivery;
use crate::serve::request::sampling::ReasoningEffort;

/// A chat request of any dialect, in the engine's terms.
pub(in crate::serve) struct ChatRequest {
    /// The model's id, if the request has one.
    pub(in crate::serve) model: Option<String>,
    pub(in crate::serve) history: Vec<ChatMessage>,
    /// The places of the history's images in the request, in order.
    pub(in crate::serve) image_places: Vec<String>,
    pub(in crate::serve) functions: Vec<SdkFunction>,
    pub(in crate::serve) options: GenerationOptions,
    /// The format of the reply's sound; `None` for text alone.
    pub(in crate::serve) sound: Option<SoundFormat>,
    pub(in crate::serve) thinking: Thinking,
    pub(in crate::serve) delivery: Delivery,
}

/// Whether the model is to reason. `enabled` decides; without it, an effort asks a model that can reason to do so. How
/// much it reasons is up to the model.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::serve) struct Thinking {
    pub(in crate::serve) enabled: Option<bool>,
    pub(in crate::serve) effort: Option<ReasoningEffort>,
}
