//! Where the images of a request are. The engine counts the messages of the history that a request became, which may be more
//! or fewer than those of the request.

use causerie::{ChatMessage, ChatMessageContent, SdkError};

/// The place of each image, as the engine names it and as the request does.
#[derive(Debug, Default)]
pub(in crate::serve) struct ImagePlaces {
    places: Vec<(String, String)>,
}

impl ImagePlaces {
    /// Pairs the images of a history with their places in the request, which are in the same order. `n_before` is the number of
    /// messages that are put before the history.
    pub(in crate::serve) fn new(history: &[ChatMessage], n_before: usize, places: Vec<String>) -> Self {
        let images = history.iter().zip(n_before..).flat_map(|(message, i)| {
            let is_image = |part: &ChatMessageContent| matches!(part, ChatMessageContent::Image(_));
            let parts = message.content.iter().enumerate().filter(move |(_, part)| is_image(part));
            parts.map(move |(j, _)| format!("messages[{i}].content[{j}]:"))
        });
        let images: Vec<String> = images.collect();
        // Images of items that are ignored are in no message.
        if images.len() != places.len() {
            return Self::default();
        }
        Self { places: images.into_iter().zip(places).collect() }
    }

    /// An error of the engine; one about an image begins with the place in the request.
    pub(in crate::serve) fn named(&self, err: SdkError) -> SdkError {
        let rest =
            |(engine, place): &(String, String)| Some((place.clone(), err.message().strip_prefix(engine)?.to_owned()));
        match self.places.iter().find_map(rest) {
            Some((place, rest)) => SdkError::new(err.kind(), format!("{place}:{rest}")),
            None => err,
        }
    }
}
