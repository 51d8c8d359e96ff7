//! Makes a grammar of a JSON schema, and checks a reply that it allows. An input is the schema, a zero byte, and choices
//! among the characters that may come next.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (schema, choices) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    drop(causerie::fuzzing::reply_schema(schema, choices));
});
