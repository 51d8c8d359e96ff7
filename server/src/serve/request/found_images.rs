//! The images and recordings that were found in a request.

/// The images and recordings of a request, in order.
#[derive(Debug, Default)]
pub(in crate::serve) struct RequestImages(pub(super) Vec<RequestImage>);

/// An image or a recording of a request.
#[derive(Debug)]
pub(in crate::serve) struct RequestImage {
    /// The field that it is in.
    pub(in crate::serve) field: &'static str,
    /// JSON Pointer to it in the field.
    pub(in crate::serve) pointer: String,
    /// Whether it is named by an address.
    pub(super) has_address: bool,
    /// Whether it is sound.
    pub(super) is_sound: bool,
}

impl RequestImage {
    /// The place in the request, as errors name it: `messages[0].content[1]`.
    pub(in crate::serve) fn place(&self) -> String {
        place_of(self.field, &self.pointer)
    }
}

impl RequestImages {
    pub(in crate::serve) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some are named by addresses.
    pub(in crate::serve) fn have_addresses(&self) -> bool {
        self.0.iter().any(|image| image.has_address)
    }

    /// The images that are named by addresses.
    pub(in crate::serve) fn with_addresses(&self) -> impl Iterator<Item = &RequestImage> {
        self.0.iter().filter(|image| image.has_address)
    }

    /// The places of the images in a field.
    pub(in crate::serve) fn places(&self, field: &str) -> Vec<String> {
        self.0.iter().filter(|image| image.field == field).map(RequestImage::place).collect()
    }

    /// The places of the images in a message or item of a field.
    pub(in crate::serve) fn places_in(&self, field: &str, index: usize) -> Vec<String> {
        let item = index.to_string();
        let is_in = |image: &&RequestImage| image.pointer.split('/').nth(1) == Some(&item);
        self.0.iter().filter(|image| image.field == field).filter(is_in).map(RequestImage::place).collect()
    }
}

/// A place within a field, by a JSON Pointer, as errors name it.
pub(super) fn place_of(field: &str, pointer: &str) -> String {
    let mut place = field.to_owned();
    for step in pointer.split('/').skip(1) {
        match step.starts_with(|first: char| first.is_ascii_digit()) {
            true => place.extend(["[", step, "]"]),
            false => place.extend([".", step]),
        }
    }
    place
}
