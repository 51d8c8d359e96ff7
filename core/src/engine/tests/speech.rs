//! Whole spoken replies of a tiny model, as the reference gives them: liquid-audio 1.3.0 on transformers 5.24.

use super::*;
use crate::bundle::{self, BundleParts};
use crate::media::sound::testing::hashed;
use crate::media::sound::{SpokenFrames, SpokenSound};
use crate::message::ChatMessageContent;
use crate::model::Voice;
use crate::model::speech::testing::{Golden, depthformer, detokenizer};
use crate::options::{CacheType, LoadOptions};
use crate::position::{ContentDigest, Embedded, EmbeddingJob, EmbeddingSource};
use crate::prompt::embedded;
use crate::voice::{VoiceFiles, spoken_segments};
use crate::weights::Weights;
use crate::weights::testing::{TinyFolder, TinyTensor};

const CONFIG: &str = r#"{
    "model_type": "lfm2", "vocab_size": 160, "hidden_size": 64, "intermediate_size": 96, "block_auto_adjust_ff_dim": false,
    "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
    "layer_types": ["conv", "full_attention", "conv"], "conv_L_cache": 3, "norm_eps": 1e-5, "rope_theta": 1000000.0,
    "max_position_embeddings": 512
}"#;
const HIDDEN: usize = 64;

/// The decoder of the tiny model.
fn decoder() -> Vec<TinyTensor> {
    let mut tensors = Vec::new();
    let mut add = |name: &str, shape: &[usize]| {
        let n_columns = shape[1..].iter().product::<usize>() as f64;
        let (scale, mean) = match name {
            "embed_tokens.weight" => (0.15, 0.0),
            _ if name.contains("norm") => (0.2, 1.0),
            _ => (1.2 / n_columns.sqrt(), 0.0),
        };
        let values = hashed(&format!("lfm.{name}"), 0..shape.iter().product(), scale, mean);
        tensors.push((format!("model.{name}"), shape.to_vec(), values));
    };
    add("embed_tokens.weight", &[160, HIDDEN]);
    add("embedding_norm.weight", &[HIDDEN]);
    for layer in 0..3 {
        let mut part = |part: &str, shape: &[usize]| add(&format!("layers.{layer}.{part}.weight"), shape);
        part("operator_norm", &[64]);
        part("ffn_norm", &[64]);
        part("feed_forward.w1", &[96, 64]);
        part("feed_forward.w2", &[64, 96]);
        part("feed_forward.w3", &[96, 64]);
        if layer == 1 {
            part("self_attn.q_proj", &[64, 64]);
            part("self_attn.k_proj", &[32, 64]);
            part("self_attn.v_proj", &[32, 64]);
            part("self_attn.out_proj", &[64, 64]);
            part("self_attn.q_layernorm", &[16]);
            part("self_attn.k_layernorm", &[16]);
        } else {
            part("conv.in_proj", &[192, 64]);
            part("conv.conv", &[64, 1, 3]);
            part("conv.out_proj", &[64, 64]);
        }
    }
    tensors
}

/// Token `n` has the text ` n`, unless it is a control token.
fn tokenizer() -> ModelTokenizer {
    let control = [(1, "<|startoftext|>"), (7, "<|im_end|>"), (128, "<|audio_start|>"), (130, "<|text_end|>")];
    let spelling = |id: u32| match control.iter().find(|(control, _)| *control == id) {
        Some((_, spelling)) => (*spelling).to_owned(),
        None => format!("\u{120}{id}"), // a space, as byte-level vocabularies write it
    };
    let vocabulary: serde_json::Map<String, serde_json::Value> = (0..160).map(|id| (spelling(id), id.into())).collect();
    let added = control.map(|(id, content)| {
        serde_json::json!({
            "id": id, "content": content, "special": true, "normalized": false,
            "single_word": false, "lstrip": false, "rstrip": false
        })
    });
    let json = serde_json::json!({
        "version": "1.0", "added_tokens": added, "normalizer": null, "post_processor": null,
        "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true },
        "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
        "model": { "type": "BPE", "vocab": vocabulary, "merges": [] }
    });
    ModelTokenizer::from_json(&json.to_string()).unwrap()
}

/// The tiny model. The detokenizer's table is empty: its sound is measured elsewhere.
fn engine_that_speaks() -> Engine {
    let mut tensors = decoder();
    tensors.extend(depthformer());
    let folder = TinyFolder::new(CONFIG, &tensors).with("audio_detokenizer", "{}", &detokenizer(&[], 1));
    let weights = folder.open();
    let VoiceFiles::Found(found) = crate::voice::find(&weights, None, None, None).unwrap() else { panic!("no voice") };
    let options = LoadOptions { cache_type: CacheType::F32, ..Default::default() };
    let compute = Compute::new(&options).unwrap();
    let voice = compute.load_voice(&found.0, &found.1, HIDDEN).unwrap();
    let model = Model::load(&weights, None, compute, usize::MAX, &mut |_| ControlFlow::Continue(())).unwrap();
    let loaded = LoadedModel { voice: Some(voice), ..LoadedModel::new(model, tokenizer(), None, 512) };
    Engine::start(loaded, PrefixCache::new(1 << 20, 8)).unwrap()
}

/// Rows of sound that was heard.
#[derive(Clone)]
struct HeardRows(Arc<[f32]>);

impl EmbeddingSource for HeardRows {
    fn digest(&self) -> ContentDigest {
        ContentDigest::from_parts(&[b"heard"])
    }

    fn n_rows(&self) -> u32 {
        (self.0.len() / HIDDEN) as u32
    }

    fn begin(&self) -> Result<Box<dyn EmbeddingJob>> {
        Ok(Box::new(self.clone()))
    }
}

impl EmbeddingJob for HeardRows {
    fn advance(&mut self) -> Result<Option<Arc<[f32]>>> {
        Ok(Some(Arc::clone(&self.0)))
    }
}

/// The prompt of the golden file: text, sound that was heard, and frames of an earlier reply.
fn prompt(golden: &Golden, voice: &Voice, last_token: u32) -> (Vec<Position>, Vec<Embedded>) {
    let rows = golden.floats("whole.prompt_embeddings");
    let (mut text, frames) = (golden.integers("whole.text"), golden.integers("whole.audio_out"));
    *text.last_mut().unwrap() = last_token;
    let modality = golden.integers("whole.modality");
    let heard = modality.iter().enumerate().filter(|(_, kind)| **kind == 2);
    let heard: Vec<f32> = heard.flat_map(|(at, _)| rows[HIDDEN * at..HIDDEN * (at + 1)].to_vec()).collect();
    let heard = Embedded(Arc::new(HeardRows(heard.into())));
    let frames = (0..3).map(|frame| (0..8).map(|codebook| frames[3 * codebook + frame] as u16).collect()).collect();
    let frames = SpokenFrames { voice: voice.digest.bytes(), frames, ..Default::default() };
    let spoken: Vec<Embedded> = embedded(&spoken_segments(voice, frames).unwrap()).cloned().collect();
    let mut text = text.into_iter().map(Position::Token);
    let (mut heard_rows, mut spoken_rows) = (heard.positions(), spoken.iter().flat_map(Embedded::positions));
    let position = |kind: &u32| match kind {
        1 => text.next(),
        2 => heard_rows.next(),
        _ => spoken_rows.next(),
    };
    let positions = modality.iter().map(position).collect::<Option<Vec<_>>>().unwrap();
    let embedded = [heard].into_iter().chain(spoken.iter().cloned()).collect();
    (positions, embedded)
}

/// The completion of a spoken reply, with all of its samples.
fn reply(engine: &Arc<Engine>, mode: SpeechMode, last_token: u32) -> (Completion, Vec<f32>) {
    let golden = Golden::read("lfm2-audio.safetensors");
    let loaded = engine.loaded().unwrap();
    let (positions, embedded) = prompt(&golden, loaded.voice.as_ref().unwrap(), last_token);
    let prepared = Prepared { speech: mode, embedded, positions, ..prompt_of(Vec::new()) };
    let options = GenerationOptions {
        temperature: Some(0.0),
        max_tokens: Some(24),
        speech_temperature: Some(0.0),
        ..Default::default()
    };
    let sampling = options.sampling(&Default::default());
    let request = Request { owner: TestOwner::new(Box::new(|_| Ok(prepared))), options, sampling };
    let starter = Arc::clone(engine);
    let mut stream = ResponseStream::new(move |sender| {
        starter.submit(request, sender)?;
        Ok(starter.thread())
    });
    let (mut samples, mut completion) = (Vec::new(), None);
    for event in stream.iter() {
        match event.unwrap() {
            MessageResponse::AudioSample { samples: next, sample_rate } => {
                assert_eq!(sample_rate, 24_000);
                samples.extend(next);
            }
            MessageResponse::Complete(complete) => completion = Some(*complete),
            _ => {}
        }
    }
    (completion.unwrap(), samples)
}

/// The steps of the reply in a message: a token of text, or the codes of a frame.
fn steps(completion: &Completion) -> Vec<Vec<u32>> {
    let steps = completion.full_message.content.iter().flat_map(|part| match part {
        ChatMessageContent::Text(text) => text.split_whitespace().map(|token| vec![token.parse().unwrap()]).collect(),
        ChatMessageContent::Audio(file) => {
            let spoken = SpokenSound::frames_of(file).unwrap();
            spoken.frames.into_iter().map(|frame| frame.into_iter().map(u32::from).collect()).collect()
        }
        ChatMessageContent::Image(_) => Vec::new(),
    });
    steps.collect()
}

/// The steps of the reference, without control tokens.
fn expected(name: &str) -> Vec<Vec<u32>> {
    let rows = Golden::read("lfm2-audio.safetensors").integers(name);
    let steps = rows.chunks_exact(8).map(|row| if row[1] == u32::MAX { vec![row[0]] } else { row.to_vec() });
    steps.filter(|step| ![7, 128, 130].contains(&step[0]) || step.len() == 8).collect()
}

/// The last tokens of the two prompts. The golden file has the text of the second.
const LAST_TOKENS: [u32; 2] = [43, 40];

#[test]
fn replies_are_those_of_the_reference() {
    let engine = Arc::new(engine_that_speaks());
    for (name, mode, last_token) in [
        ("whole.sequential", SpeechMode::Sequential, LAST_TOKENS[0]),
        ("whole.interleaved", SpeechMode::Interleaved, LAST_TOKENS[0]),
        ("whole.interleaved_2", SpeechMode::Interleaved, LAST_TOKENS[1]),
    ] {
        let (completion, samples) = reply(&engine, mode, last_token);
        assert_eq!(steps(&completion), expected(name), "{name}");
        let n_spoken = expected(name).iter().filter(|step| step.len() == 8 && !step.contains(&2048)).count();
        assert_eq!(samples.len(), 1920 * n_spoken, "{name}");
    }
}

#[test]
fn a_reply_without_speech_is_text_alone() {
    let engine = Arc::new(engine_that_speaks());
    let (completion, samples) = reply(&engine, SpeechMode::Off, LAST_TOKENS[1]);
    assert!(samples.is_empty() && steps(&completion).iter().all(|step| step.len() == 1));
}

#[test]
fn a_bundle_of_a_folder_has_its_detokenizer() {
    let mut tensors = decoder();
    tensors.extend(depthformer());
    let folder = TinyFolder::new(CONFIG, &tensors).with("audio_detokenizer", "{}", &detokenizer(&[], 1));
    let made = std::env::temp_dir().join(format!("causerie-speaking-folder-{}.bundle", std::process::id()));
    let path = folder.open().path().unwrap().to_str().unwrap().to_owned();
    bundle::make(&path, &BundleParts::default(), &made, |_| ControlFlow::Continue(())).unwrap();
    let files: Vec<String> = bundle::list(&made).unwrap().into_iter().map(|file| file.path).collect();
    let own = ["config.json", "model.safetensors"];
    assert_eq!(files, [own.map(|file| format!("audio_detokenizer/{file}")), own.map(str::to_owned)].concat());
    let weights = Weights::open(made.to_str().unwrap()).unwrap();
    let found = crate::voice::find(&weights, None, None, None).unwrap();
    std::fs::remove_file(&made).unwrap();
    assert!(matches!(found, VoiceFiles::Found(_)));
}
