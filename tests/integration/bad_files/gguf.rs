//! The parts of a GGUF file, to build invalid files from.

pub(super) const U8: u32 = 0;
pub(super) const U32: u32 = 4;
pub(super) const F32: u32 = 6;
pub(super) const BOOL: u32 = 7;
pub(super) const TEXT: u32 = 8;
pub(super) const ARRAY: u32 = 9;
pub(super) const U64: u32 = 10;

#[derive(Clone)]
pub(super) struct Gguf {
    /// Key, type and bytes of each value.
    pub(super) values: Vec<(String, u32, Vec<u8>)>,
    pub(super) tensors: Vec<Tensor>,
    /// The weights, and their offset in the file.
    pub(super) weights: Vec<u8>,
}

#[derive(Clone)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) dims: Vec<u64>,
    pub(super) dtype: u32,
    pub(super) offset: u64,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, n_bytes: usize) -> &[u8] {
        self.at += n_bytes;
        &self.bytes[self.at - n_bytes..self.at]
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let length = self.u64() as usize;
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }

    fn skip(&mut self, value_type: u32) {
        match value_type {
            0 | 1 | BOOL => drop(self.take(1).len()),
            2 | 3 => drop(self.take(2).len()),
            U32 | 5 | F32 => drop(self.take(4).len()),
            TEXT => drop(self.text()),
            ARRAY => {
                let (element, count) = (self.u32(), self.u64());
                (0..count).for_each(|_| self.skip(element));
            }
            _ => drop(self.take(8).len()),
        }
    }
}

impl Gguf {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut reader = Reader { bytes, at: 8 };
        let (n_tensors, n_values) = (reader.u64(), reader.u64());
        let value = |reader: &mut Reader<'_>| {
            let (key, value_type, start) = (reader.text(), reader.u32(), reader.at);
            reader.skip(value_type);
            (key, value_type, bytes[start..reader.at].to_vec())
        };
        let values = (0..n_values).map(|_| value(&mut reader)).collect();
        let tensor = |reader: &mut Reader<'_>| {
            let (name, n_dims) = (reader.text(), reader.u32());
            let dims = (0..n_dims).map(|_| reader.u64()).collect();
            Tensor { name, dims, dtype: reader.u32(), offset: reader.u64() }
        };
        let tensors = (0..n_tensors).map(|_| tensor(&mut reader)).collect();
        let weights = bytes[reader.at.next_multiple_of(32)..].to_vec();
        Self { values, tensors, weights }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.values.len() as u64).to_le_bytes());
        for (key, value_type, value) in &self.values {
            bytes.extend(text(key));
            bytes.extend(value_type.to_le_bytes());
            bytes.extend(value);
        }
        for tensor in &self.tensors {
            bytes.extend(text(&tensor.name));
            bytes.extend((tensor.dims.len() as u32).to_le_bytes());
            tensor.dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
            bytes.extend(tensor.dtype.to_le_bytes());
            bytes.extend(tensor.offset.to_le_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend(&self.weights);
        bytes
    }

    /// The same file with another value of a key, or with an additional key.
    pub(super) fn with(mut self, key: &str, value_type: u32, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref().to_vec();
        match self.values.iter_mut().find(|(known, ..)| known == key) {
            Some(known) => *known = (key.to_owned(), value_type, value),
            None => self.values.push((key.to_owned(), value_type, value)),
        }
        self
    }

    pub(super) fn without(mut self, key: &str) -> Self {
        let n_values = self.values.len();
        self.values.retain(|(known, ..)| known != key);
        assert_eq!(self.values.len() + 1, n_values, "{key} is in the file");
        self
    }

    pub(super) fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors.iter_mut().find(|tensor| tensor.name == name).unwrap()
    }
}

pub(super) fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// An array of values of one type, each given by its bytes.
pub(super) fn array(element: u32, values: &[Vec<u8>]) -> Vec<u8> {
    [&element.to_le_bytes()[..], &(values.len() as u64).to_le_bytes(), &values.concat()].concat()
}
