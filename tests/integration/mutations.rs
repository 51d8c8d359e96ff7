//! Files, templates and replies with random damage: whatever the bytes, there is a result or an error, never a panic.
//! The same entry points are fuzzed with coverage in `fuzz/`. The damage is drawn from fixed seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use causerie::embedding::{EmbedOptions, EmbeddingModel, RerankOptions};
use causerie::{
    GenerationOptions, LoadOptions, MessageResponse, ModelInfo, ModelRunner, bundle, functions_from_json, fuzzing,
    messages_from_json,
};

use crate::fixture;

/// Pseudo-random numbers (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Damages bytes in one to four places, mostly near their beginning.
fn damage(random: &mut Random, bytes: &[u8], words: &[&str]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let scope = if random.below(2) == 0 { bytes.len() } else { bytes.len().min(4096) };
        let at = random.below(scope);
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(8) {
            _ if bytes.is_empty() => {}
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => bytes[at..end].fill([0, 0xff][random.below(2)]),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let chunk = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, chunk);
            }
            _ => {
                let word = words[random.below(words.len())];
                bytes.splice(at..at, word.bytes());
            }
        }
    }
    bytes
}

/// Runs damaged seeds. Names the damage that caused a panic.
#[track_caller]
fn check(seeds: &[Vec<u8>], words: &[&str], count: u64, run: impl Fn(&[u8])) {
    for number in 0..count {
        let mut random = Random(number + 1);
        let seed = &seeds[random.below(seeds.len())];
        let bytes = damage(&mut random, seed, words);
        if catch_unwind(AssertUnwindSafe(|| run(&bytes))).is_err() {
            panic!("damage {number} causes a panic: {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]));
        }
    }
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(fixture(path)).unwrap()
}

/// All files of a folder of fixtures.
fn read_all(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn damaged_headers_of_gguf_files() {
    let words = ["\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{1}", "general.alignment", "\u{9}\u{0}\u{0}\u{0}"];
    let seeds = [read("models/smollm2-q4_1.gguf"), read("tokenizers/llama.gguf"), read("tokenizers/qwen2.gguf")];
    check(&seeds, &words, 3000, |bytes| drop(ModelInfo::read_from_bytes(bytes.to_vec())));
}

#[test]
fn damaged_bundles() {
    let words = ["PK\u{3}\u{4}", "PK\u{1}\u{2}", "../", "\u{0}\u{0}", "\"./lfm2.gguf\"", "1e99", "null"];
    let path = std::env::temp_dir().join(format!("causerie-damaged-{}.bundle", std::process::id()));
    // Without most of the weights, so that more of the damage is to the structure.
    let whole = read("bundles/lfm2.bundle");
    check(&[whole.clone(), whole[..20_000].to_vec(), whole[whole.len() - 40_000..].to_vec()], &words, 600, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        drop(ModelInfo::read(path.to_str().unwrap()));
        drop(bundle::verify(&path, |_| std::ops::ControlFlow::Continue(())));
    });
    // Without the padding and most of the weights, in pieces.
    let is_part = |at: usize| at < 100_000 || whole.len() - 40_000 < at;
    let starts = (0..whole.len()).filter(|at| at % 64 == 0 && is_part(*at));
    let piece = |start: usize| {
        let bytes = &whole[start..whole.len().min(start + 64)];
        let place = [&(start as u32).to_le_bytes()[..3], &(bytes.len() as u16).to_le_bytes()].concat();
        bytes.iter().any(|byte| *byte != 0).then(|| [&place, bytes].concat())
    };
    let pieces = starts.filter_map(piece).collect::<Vec<_>>().concat();
    assert!(fuzzing::bundle(&path, &pieces).is_ok(), "without damage, it is a bundle");
    check(&[pieces], &words, 600, |bytes| drop(fuzzing::bundle(&path, bytes)));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn damaged_gguf_files_that_still_load() {
    check(&[read("models/smollm2-q4_1.gguf")], &["\u{0}"], 300, |bytes| {
        let Ok(runner) = ModelRunner::load_from_bytes(bytes.to_vec(), LoadOptions::default()) else { return };
        let options = GenerationOptions { max_tokens: Some(2), seed: Some(1), ..Default::default() };
        let n_ends = runner
            .complete("Hi", options)
            .into_iter()
            .filter(|event| matches!(event, Err(_) | Ok(MessageResponse::Complete(_))));
        assert_eq!(n_ends.count(), 1, "a reply ends once");
    });
}

#[test]
fn damaged_tokenizers() {
    let words = ["\"type\":\"", "null", "-1", "4294967296", "[", "{}", "\"\\ud800\"", "▁", "<0x0A>", "(a+)+$"];
    check(&read_all("tokenizers", "json"), &words, 2000, |bytes| drop(fuzzing::tokenizer_json(bytes)));
}

#[test]
fn damaged_templates() {
    let words = [
        "{%",
        "%}",
        "{{",
        "}}",
        "{#",
        "~",
        "+",
        "*",
        "|",
        "(",
        ")",
        "[",
        "'",
        "loop",
        "messages",
        "namespace()",
        "| tojson",
        " if ",
        "{% set x = x ~ x %}",
        "{% for m in messages recursive %}",
        "{% endfor %}",
        "{{ loop(messages) }}",
        "99999999999999999999",
        "{% raw %}",
        "{% generation %}",
        "[:]",
        "**",
        " is ",
        ".split(",
    ];
    let mut seeds = read_all("templates", "jinja");
    seeds.push(std::fs::read(crate::repository("models/template.jinja")).unwrap());
    check(&seeds, &words, 2000, |bytes| drop(fuzzing::chat_template(bytes)));
}

#[test]
fn damaged_calls_of_all_notations() {
    let words = [
        "'",
        "\"",
        "\\",
        "[",
        "(",
        "{",
        "**",
        "f(",
        "a=",
        "1e999",
        "0x",
        "'''",
        "<tool_call>",
        "</tool_call>",
        "<think>",
        "<function=f>",
        "</function>",
        "<parameter=a>",
        "</parameter>",
        "call:f{",
        "\u{1}[ARGS]\u{2}",
        "\u{1}[TOOL_CALLS]\u{2}",
        "\u{1}<|tool_call|>\u{2}",
        "\u{1}<tool_call>\u{2}",
        "é",
    ];
    let seeds = [
        &b"[f(a='x', b=[1, 2.5, None], c={'k': \"v\"}), g.h()]"[..],
        b"[run(cmd='grep 'a b' notes.txt', n=07, t=(1, 2), **{'x': True})]\n",
        br#"{"name": "f", "arguments": {"a": [1, -2e3, "\u00e9\ud83d\ude00"], "b": null}}</tool_call> <tool_call>{"name": "g"}"#,
        b"\n<function=f>\n<parameter=a>\nx\n</parameter>\n<parameter=b>\n[1]\n</parameter>\n</function>\n",
        br#"call:f{a:"x",b:[1,-2e3],c:{d:true}}"#,
        b"f\x01[ARGS]\x02{\"a\": \"x\"}\x01[TOOL_CALLS]\x02g\x01[ARGS]\x02{}",
        br#"[{"name": "f", "arguments": {"a": "x"}, "id": "D681PevKs"}]"#,
        br#"{"type": "function", "name": "f", "parameters": {"a": "x"}}; {"name": "g"}"#,
    ]
    .map(<[u8]>::to_vec);
    check(&seeds, &words, 4000, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let cut = choices(bytes)[0];
        for parser in fuzzing::PARSERS {
            for form in 0..fuzzing::N_FORMS {
                fuzzing::reply(*parser, form, 0, &text);
                fuzzing::reply(*parser, form, cut, &text);
            }
        }
    });
}

const SCHEMA_WORDS: [&str; 12] = [
    "null",
    "[",
    "{",
    "1e999",
    "-1",
    "\"type\": \"integer\", ",
    "\"enum\": [1, \"a\"], ",
    "\"$ref\": \"#\", ",
    "\"minLength\": 3, ",
    "\"pattern\": \"^a+$\", ",
    "\"maximum\": 3, ",
    "\"anyOf\": [{\"type\": \"null\"}], ",
];

/// Choices among characters, drawn from the length of the bytes.
fn choices(bytes: &[u8]) -> Vec<u8> {
    let mut random = Random(bytes.len() as u64 + 1);
    (0..80).map(|_| random.next() as u8).collect()
}

#[test]
fn calls_by_grammars_of_damaged_functions_are_read_and_fit() {
    let seeds = [
        br#"[{"name": "f", "parameters": {"properties": {"a": {"type": "string", "maxLength": 2}, "b": {"type": "integer"}}, "required": ["a"]}}]"#.to_vec(),
        br#"[{"name": "g", "parameters": {"properties": {"e": {"enum": ["x", 2, null]}, "l": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}}, "required": ["e", "l"]}}]"#.to_vec(),
        br#"[{"name": "h", "parameters": {"properties": {"o": {"type": "object", "properties": {"n": {"type": "number"}}}}}}, {"name": "i"}]"#.to_vec(),
    ];
    check(&seeds, &SCHEMA_WORDS, 300, |bytes| {
        for parser in fuzzing::PARSERS {
            drop(fuzzing::call_grammar(*parser, bytes, &choices(bytes)));
        }
    });
}

#[test]
fn replies_by_grammars_of_damaged_schemas_fit() {
    let seeds = [
        br#"{"type": "object", "properties": {"a": {"type": "string", "maxLength": 2}, "n": {"type": "integer", "minimum": 0, "maximum": 9}}, "required": ["n"]}"#.to_vec(),
        br#"{"type": "array", "items": {"anyOf": [{"type": "boolean"}, {"const": "x"}, {"type": "string", "format": "date"}]}, "minItems": 1, "maxItems": 2}"#.to_vec(),
    ];
    check(&seeds, &SCHEMA_WORDS, 300, |bytes| drop(fuzzing::reply_schema(bytes, &choices(bytes))));
}

#[test]
fn damaged_histories_and_functions() {
    let words =
        ["null", "[", "{", "1e999", "\"role\":", "\"type\":\"array\",", "\"enum\":[],", "\"$ref\":\"#\",", "-0"];
    check(&read_all("conversations", "json"), &words, 3000, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        for part in [&text[..], text.find('[').map_or("", |at| &text[at..])] {
            drop(messages_from_json(part));
            drop(functions_from_json(part));
        }
    });
}

/// Loads a model that embeds or ranks, and uses it.
fn embed(path: &str) {
    let Ok(model) = EmbeddingModel::load(path) else { return };
    drop(model.embed(["a man eats bread"], EmbedOptions::default()));
    drop(model.embed_tokens(["a man eats bread"], EmbedOptions::default()));
    drop(model.rerank("who eats", ["a man eats bread"], RerankOptions::default()));
}

#[test]
fn damaged_folders_of_models_that_embed() {
    let folder = std::env::temp_dir().join(format!("causerie-damaged-{}-bert", std::process::id()));
    std::fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    let files = ["modules.json", "1_Pooling/config.json", "config.json", "model.safetensors"];
    for entry in std::fs::read_dir(fixture("models/bert")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    let restore = |name: &str| std::fs::write(folder.join(name), read(&format!("models/bert/{name}"))).unwrap();
    files.iter().for_each(|name| restore(name));
    let path = folder.to_str().unwrap();
    assert!(EmbeddingModel::load(path).is_ok(), "without damage, it is loaded");
    let words = [
        "null",
        "[",
        "{",
        "-1",
        "0",
        "1e999",
        "18446744073709551615",
        "Dense",
        "Normalize",
        "Pooling",
        "LogitScore",
        "../",
        "\"pooling_mode\": \"lasttoken\", ",
    ];
    for name in files {
        check(&[read(&format!("models/bert/{name}"))], &words, 150, |bytes| {
            std::fs::write(folder.join(name), bytes).unwrap();
            embed(path);
        });
        restore(name);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn damaged_gguf_files_of_models_that_embed() {
    let words = ["\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{1}", "bert.pooling_type", "\u{9}\u{0}\u{0}\u{0}", "cls.output"];
    let path = std::env::temp_dir().join(format!("causerie-damaged-{}-bert.gguf", std::process::id()));
    check(&[read("models/bert-f16.gguf"), read("models/bert-rank-f16.gguf")], &words, 600, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        embed(path.to_str().unwrap());
    });
    std::fs::remove_file(path).unwrap();
}
