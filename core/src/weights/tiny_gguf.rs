//! GGUF files of tiny models, for tests.

/// Tensors begin at multiples of this many bytes.
const ALIGNMENT: usize = 32;

/// A GGUF file that is made value by value.
#[derive(Default)]
pub(crate) struct TinyGguf {
    n_values: u64,
    metadata: Vec<u8>,
    tensors: Vec<(String, Vec<usize>, Vec<f32>)>,
}

impl TinyGguf {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn key(&mut self, key: &str, kind: u32) -> &mut Vec<u8> {
        self.n_values += 1;
        push_text(&mut self.metadata, key);
        self.metadata.extend(kind.to_le_bytes());
        &mut self.metadata
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) -> &mut Self {
        push_text(self.key(key, 8), text);
        self
    }

    pub(crate) fn count(&mut self, key: &str, count: u32) -> &mut Self {
        self.key(key, 4).extend(count.to_le_bytes());
        self
    }

    pub(crate) fn counts(&mut self, key: &str, counts: &[u32]) -> &mut Self {
        let bytes = self.key(key, 9);
        bytes.extend(4u32.to_le_bytes());
        bytes.extend((counts.len() as u64).to_le_bytes());
        counts.iter().for_each(|count| bytes.extend(count.to_le_bytes()));
        self
    }

    pub(crate) fn float(&mut self, key: &str, value: f32) -> &mut Self {
        self.key(key, 6).extend(value.to_le_bytes());
        self
    }

    /// Adds a tensor; its shape has the last axis first.
    pub(crate) fn tensor(&mut self, name: &str, shape: &[usize], values: Vec<f32>) {
        self.tensors.push((name.to_owned(), shape.to_vec(), values));
    }

    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3u32.to_le_bytes());
        file.extend((self.tensors.len() as u64).to_le_bytes());
        file.extend(self.n_values.to_le_bytes());
        file.extend(&self.metadata);
        let mut offset = 0;
        for (name, shape, values) in &self.tensors {
            push_text(&mut file, name);
            file.extend((shape.len() as u32).to_le_bytes());
            shape.iter().for_each(|size| file.extend((*size as u64).to_le_bytes()));
            file.extend(0u32.to_le_bytes());
            file.extend((offset as u64).to_le_bytes());
            offset += (4 * values.len()).next_multiple_of(ALIGNMENT);
        }
        for (_, _, values) in &self.tensors {
            file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
            values.iter().for_each(|value| file.extend(value.to_le_bytes()));
        }
        file
    }

    /// A GGUF file with these texts in its metadata as well, before all others.
    pub(crate) fn with_texts(file: &[u8], texts: &[(&str, &str)]) -> Vec<u8> {
        let mut added = Vec::new();
        let mut n_added = texts.len() as u64;
        for (key, text) in texts {
            push_text(&mut added, key);
            added.extend(8u32.to_le_bytes());
            push_text(&mut added, text);
        }
        // One text more keeps the tensors aligned.
        if !added.len().is_multiple_of(ALIGNMENT) {
            push_text(&mut added, "padding");
            added.extend(8u32.to_le_bytes());
            let n_missing = (added.len() + 8).next_multiple_of(ALIGNMENT) - added.len() - 8;
            push_text(&mut added, &" ".repeat(n_missing));
            n_added += 1;
        }
        let n_values = u64::from_le_bytes(file[16..24].try_into().unwrap()) + n_added;
        [&file[..16], &n_values.to_le_bytes(), &added, &file[24..]].concat()
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.bytes());
}
