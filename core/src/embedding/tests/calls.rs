//! Calls with models of files.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::json;

use super::{assert_near, floats, golden};
use crate::embedding::loaded::LoadedEmbedder;
use crate::embedding::vectors::{late_interaction, normalise};
use crate::embedding::{EmbedOptions, EmbeddingModel, EmbeddingModelOptions, RerankOptions, TextUse};
use crate::error::ErrorKind;
use crate::function::SdkFunction;
use crate::message::ChatMessage;
use crate::model::{Compute, Inputs, Model};
use crate::options::{CacheType, LoadOptions};
use crate::plain_prompt::Prompt;
use crate::prompt::{PromptRenderer, joined};
use crate::runner::ModelRunner;
use crate::weights::Weights;

fn fixture(name: &str) -> String {
    format!("{}/../tests/fixtures/models/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn load(name: &str) -> EmbeddingModel {
    EmbeddingModel::load(fixture(name)).unwrap()
}

#[test]
fn texts_become_the_tokens_of_the_reference_in_both_forms_of_files() {
    let golden = golden("tokens");
    for model in ["bert", "bert-f16.gguf"] {
        let weights = Weights::open(fixture(model)).unwrap();
        let tokenizer = crate::tokenizer::ModelTokenizer::load(&weights).unwrap();
        let frames = tokenizer.frames();
        for case in golden["single"].as_array().unwrap() {
            let text = tokenizer.encode_plain(case["text"].as_str().unwrap()).unwrap();
            let found = [&frames.before[..], &text, &frames.after].concat();
            assert_eq!(json!(found), case["ids"], "{model}: {case}");
        }
        let pair = frames.pair.as_ref().unwrap();
        for case in golden["pairs"].as_array().unwrap() {
            let [first, second] =
                ["first", "second"].map(|name| tokenizer.encode_plain(case[name].as_str().unwrap()).unwrap());
            let found = [&pair.before[..], &first, &pair.between, &second, &pair.after].concat();
            assert_eq!(json!(found), case["ids"], "{model}: {case}");
            let n_first = pair.before.len() + first.len() + pair.between.len();
            let types: Vec<u32> = (0..found.len()).map(|at| if at < n_first { 0 } else { pair.second_type }).collect();
            assert_eq!(json!(types), case["types"], "{model}: {case}");
        }
    }
}

#[test]
fn texts_become_the_vectors_and_the_scores_of_the_reference() {
    let golden = golden("tokens");
    let texts: Vec<&str> =
        golden["single"].as_array().unwrap()[..2].iter().map(|case| case["text"].as_str().unwrap()).collect();
    let found = load("bert").embed(texts, EmbedOptions::default()).unwrap();
    assert_near(&found.vectors.concat(), &floats(&golden["unit_means"]));
    let ranker = load("bert-rank-f16.gguf");
    for case in golden["pairs"].as_array().unwrap() {
        let [first, second] = ["first", "second"].map(|name| case[name].as_str().unwrap());
        let found = ranker.rerank(first, [second], RerankOptions::default()).unwrap();
        assert_near(&[found.results[0].relevance], &floats(&case["relevance"]));
        assert_eq!(found.n_tokens, case["ids"].as_array().unwrap().len());
    }
}

#[test]
fn a_folder_and_a_file_give_the_same_vectors() {
    let texts = ["a man eats bread", "the rocket", "reading ÉTÉ!"];
    let options = |text_use| EmbedOptions { text_use, ..EmbedOptions::default() };
    let [folder, file] =
        ["bert", "bert-f16.gguf"].map(|name| load(name).embed(texts, options(TextUse::Unspecified)).unwrap());
    assert_eq!(folder.n_tokens, file.n_tokens);
    for (a, b) in folder.vectors.iter().zip(&file.vectors) {
        assert_near(a, b);
    }
    // The file has no prompts: they are given instead.
    let query = load("bert").embed(texts, options(TextUse::Query)).unwrap();
    let prompt = Some("query: ".to_owned());
    let given = load("bert-f16.gguf").embed(texts, EmbedOptions { prompt, ..EmbedOptions::default() }).unwrap();
    assert_eq!(query.vectors, given.vectors);
    assert_ne!(query.vectors, folder.vectors);
}

#[test]
fn a_text_that_is_too_long_keeps_its_closing_token() {
    let model = load("bert");
    let long = "man ".repeat(100);
    let embedded = model.embed(["a", &long, "b"], EmbedOptions::default()).unwrap();
    assert_eq!(embedded.truncated, [1]);
    let max_tokens = model.info().max_tokens;
    assert_eq!(embedded.n_tokens, 3 + max_tokens + 3);
    // [CLS] and [SEP] of the fixture.
    let man = golden("tokens")["man"].as_u64().unwrap() as u32;
    let ids: Vec<u32> = [2].into_iter().chain(vec![man; max_tokens - 2]).chain([3]).collect();
    let by_ids = model.embed([Prompt::Tokens(ids)], EmbedOptions::default()).unwrap();
    assert_eq!(embedded.vectors[1], by_ids.vectors[0]);
    let options = EmbedOptions { truncates: false, ..EmbedOptions::default() };
    let err = model.embed(["a", &long], options).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::PromptExceedsContext { needed: 102, available: max_tokens });
    assert!(err.message().starts_with("texts[1]: "), "{err}");
}

#[test]
fn shorter_vectors_have_the_length_1_again() {
    let model = load("bert");
    let whole = model.embed(["a man"], EmbedOptions::default()).unwrap();
    let part = model.embed(["a man"], EmbedOptions { dimensions: Some(8), ..EmbedOptions::default() }).unwrap();
    let mut expect = whole.vectors[0][..8].to_vec();
    normalise(&mut expect);
    assert_near(&part.vectors[0], &expect);
    for dimensions in [0, 33] {
        let options = EmbedOptions { dimensions: Some(dimensions), ..EmbedOptions::default() };
        assert_eq!(model.embed(["a"], options).unwrap_err().kind(), ErrorKind::InvalidOption("dimensions"));
    }
}

#[test]
fn what_a_model_cannot_do_is_an_error() {
    let model = load("bert");
    assert!(model.info().embeds && !model.info().ranks && !model.info().embeds_tokens);
    let err = model.rerank("a", ["b"], RerankOptions::default()).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    assert_eq!(model.embed_tokens(["a"], EmbedOptions::default()).unwrap_err().kind(), ErrorKind::UnsupportedContent);
    let unknown = model.embed([Prompt::Tokens(vec![2, 100_000])], EmbedOptions::default()).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::InvalidMessage);
    let none = model.embed([Prompt::Tokens(Vec::new())], EmbedOptions::default()).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::InvalidMessage);
    let ranker = load("bert-rank-f16.gguf");
    assert!(ranker.info().ranks && !ranker.info().embeds);
    assert_eq!(ranker.embed(["a"], EmbedOptions::default()).unwrap_err().kind(), ErrorKind::UnsupportedContent);
    let options = RerankOptions { instruction: Some("x".to_owned()), ..RerankOptions::default() };
    assert_eq!(ranker.rerank("a", ["b"], options).unwrap_err().kind(), ErrorKind::InvalidOption("instruction"));
    assert!(model.embed(Vec::<String>::new(), EmbedOptions::default()).unwrap().vectors.is_empty());
    let small = EmbeddingModelOptions { context_size: Some(16), ..EmbeddingModelOptions::default() };
    assert_eq!(EmbeddingModel::load_with(fixture("bert"), small).unwrap().info().max_tokens, 16);
}

#[test]
fn documents_are_ranked_and_a_score_does_not_depend_on_the_others() {
    let ranker = load("bert-rank-f16.gguf");
    let documents = ["the rocket", "a man eats bread", "reading", "bread"];
    let ranking = ranker.rerank("who eats", documents, RerankOptions::default()).unwrap();
    assert!(ranking.results.windows(2).all(|pair| pair[1].relevance <= pair[0].relevance));
    for result in &ranking.results {
        let alone = ranker.rerank("who eats", [documents[result.index]], RerankOptions::default()).unwrap();
        assert_eq!(alone.results[0].relevance, result.relevance);
        assert!((0.0..=1.0).contains(&result.relevance));
    }
    let best = ranker.rerank("who eats", documents, RerankOptions { top_n: Some(2), ..Default::default() }).unwrap();
    assert_eq!(best.results, ranking.results[..2]);
    let cut = ranker.rerank("who", ["man ".repeat(200)], RerankOptions::default()).unwrap();
    assert_eq!((cut.truncated, cut.n_tokens), (vec![0], ranker.info().max_tokens));
}

#[test]
fn calls_on_several_threads_give_the_same() {
    let model = Arc::new(load("bert"));
    let expect = model.embed(["a man eats"], EmbedOptions::default()).unwrap();
    let threads = [(); 4].map(|()| {
        let model = Arc::clone(&model);
        std::thread::spawn(move || model.embed(["bread", "a man eats"], EmbedOptions::default()).unwrap())
    });
    for thread in threads {
        assert_eq!(thread.join().unwrap().vectors[1], expect.vectors[0]);
    }
}

#[test]
fn functions_are_chosen_by_their_names_and_descriptions() {
    let model = load("bert");
    let function = |name: &str, description: &str| SdkFunction::new(name, description, vec![]);
    let functions =
        [function("eat_bread", "a man eats"), function("fly", "the rocket flies"), function("sing", "a song")];
    let message = "the rocket eats bread";
    // The fixture's prompts for queries and documents differ.
    let for_use = |text_use| EmbedOptions { text_use, ..Default::default() };
    let described = ["eat bread: a man eats", "fly: the rocket flies", "sing: a song"];
    let texts = model.embed(described, for_use(TextUse::Document)).unwrap();
    let query = model.embed([message], for_use(TextUse::Query)).unwrap();
    let mut order: Vec<usize> = (0..3).collect();
    order.sort_by(|a, b| query.similarity(0, &texts, *b).unwrap().total_cmp(&query.similarity(0, &texts, *a).unwrap()));
    let expect: Vec<&str> = order.iter().take(2).map(|at| functions[*at].name.as_str()).collect();
    assert_eq!(model.choose_functions(message, &functions, 2).unwrap(), expect);
    assert_eq!(model.choose_functions(message, &functions, 3).unwrap(), ["eat_bread", "fly", "sing"]);
    for functions in [&functions[..], &[]] {
        let err = model.choose_functions(message, functions, 0).unwrap_err();
        assert_eq!((err.kind(), err.message()), (ErrorKind::InvalidArgument, "n_chosen must be at least 1, found 0"));
    }
}

#[test]
fn a_model_that_embeds_is_not_loaded_as_one_that_writes() {
    for name in ["bert", "bert-f16.gguf"] {
        let err = ModelRunner::load_with(fixture(name), LoadOptions::default()).unwrap_err();
        assert!(err.message().contains("it is loaded as an EmbeddingModel"), "{err}");
    }
}

/// The logits come from the network of conversations, which other tests compare with transformers.
#[test]
fn a_chat_model_is_asked_for_yes_or_no() {
    let place = DEMO;
    let (ranker, runner) = (EmbeddingModel::load(place).unwrap(), ModelRunner::load(place).unwrap());
    assert!(ranker.info().ranks && !ranker.info().embeds);
    let system = "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that \
                  the answer can only be \"yes\" or \"no\".";
    let asked = "<Instruct>: Find what is asked for\n<Query>: who eats\n<Document>: a man eats bread";
    let prompt = runner.prompt_tokens(&[ChatMessage::system(system), ChatMessage::user(asked)], true).unwrap();
    let compute = Compute::native(2, CacheType::F32);
    let weights = Weights::open(place).unwrap();
    let model = Model::load(&weights, None, compute, 512, &mut |_| ControlFlow::Continue(())).unwrap();
    let (mut state, mut logits) = (model.start().unwrap(), Vec::new());
    model.forward_one(Inputs::Tokens(&prompt), &mut *state, &mut logits).unwrap();
    let logit = |label: &str| f64::from(logits[*runner.tokenize(label).unwrap().last().unwrap() as usize]);
    let expect = 1.0 / (1.0 + (logit("no") - logit("yes")).exp());
    let options = RerankOptions { instruction: Some("Find what is asked for".to_owned()), ..RerankOptions::default() };
    let ranking = ranker.rerank("who eats", ["a man eats bread"], options).unwrap();
    assert_eq!(ranking.n_tokens, prompt.len());
    // The file's weights are quantised: a whole product of logits rounds its inputs to 8 bits, that of two rows does not.
    let difference = (f64::from(ranking.results[0].relevance) - expect).abs();
    assert!(difference <= 5e-3, "found a difference of {difference}");
    // Of a document that is too long, the question's end is kept.
    let small = EmbeddingModelOptions { context_size: Some(160), ..EmbeddingModelOptions::default() };
    let ranker = EmbeddingModel::load_with(place, small).unwrap();
    let cut = ranker.rerank("who eats", ["a man eats bread ".repeat(100)], RerankOptions::default()).unwrap();
    assert_eq!((cut.n_tokens, cut.truncated), (160, vec![0]));
    // Without a token of the document, all documents would be equal.
    let err = ranker.rerank(&"who eats ".repeat(100), ["a man"], RerankOptions::default()).unwrap_err();
    let ErrorKind::PromptExceedsContext { needed, available: 160 } = err.kind() else { panic!("{err:?}") };
    assert!(200 < needed && err.message().contains(&needed.to_string()), "{err}");
}

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");

/// The demo model with a template whose turns of the user end with `after`, and whose prompts end with `end`.
fn asking(after: &str, end: &str, context_size: usize) -> LoadedEmbedder {
    let options = EmbeddingModelOptions { context_size: Some(context_size), ..EmbeddingModelOptions::default() };
    let mut loaded = LoadedEmbedder::load(&Weights::open(DEMO).unwrap(), &options).unwrap();
    let template = format!(
        "{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n{{{{ m.content }}}}{after}<|im_end|>\n{{% endfor %}}\
         {{% if add_generation_prompt %}}<|im_start|>assistant\n{end}{{% endif %}}"
    );
    let control = loaded.tokenizer.control_tokens().unwrap();
    loaded.renderer = Some(PromptRenderer::new(&template, control, "", "", false).unwrap());
    loaded
}

#[test]
fn a_question_has_no_open_reasoning() {
    for (end, expect) in [("<think>\n", "<think>\n\n</think>\n\n"), ("", "")] {
        let loaded = asking("", end, 512);
        let text = joined(&loaded.asked(None, "who eats", "a man", &RerankOptions::default()).unwrap());
        assert!(text.ends_with(&format!("<Document>: a man<|im_end|>\n<|im_start|>assistant\n{expect}")), "{text:?}");
    }
}

#[test]
fn only_the_document_of_a_question_is_cut() {
    let loaded = asking("\nIs it relevant?", "", 200);
    let options = RerankOptions::default();
    let asked = |document: &str| loaded.asked(None, "who eats", document, &options);
    let mut questions =
        loaded.questions(&asked, &[&"a man eats bread ".repeat(100), ""], &mut |_| ControlFlow::Continue(())).unwrap();
    let (empty, cut) = (questions.remove(1), questions.remove(0));
    assert_eq!((cut.ids.len(), cut.is_cut, empty.is_cut), (200, true, false));
    let after = loaded.tokenizer.encode_plain("?").unwrap();
    let at = empty.ids.windows(after.len()).rposition(|ids| ids == after).unwrap();
    assert!(cut.ids.ends_with(&empty.ids[at..]), "{:?} {:?}", cut.ids, empty.ids);
}

#[test]
fn a_cancelled_call_ends_before_its_next_part() {
    let long = "man ".repeat(30);
    let texts = vec![&*long; 100]; // 32 tokens each, or 34 with the query: 32 or 30 are computed together
    let mut seen = Vec::new();
    let mut watch = |share: f32| {
        seen.push(share);
        if 0.5 < share { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let embedded = load("bert").embed_watched(texts.clone(), EmbedOptions::default(), &mut watch);
    let ranked = load("bert-rank-f16.gguf").rerank_watched("who", texts, RerankOptions::default(), &mut watch);
    assert_eq!([embedded.unwrap_err().kind(), ranked.unwrap_err().kind()], [ErrorKind::LoadCancelled; 2]);
    seen.retain(|share| *share != 0.0);
    assert_eq!(seen, [0.32, 0.64, 0.3, 0.6]);
}

#[test]
fn a_model_with_a_vector_for_each_token_ranks_by_its_best_cosines() {
    let folder = std::env::temp_dir().join(format!("causerie-rows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        let from = format!("{}/{name}", fixture("bert"));
        if std::path::Path::new(&from).exists() {
            std::fs::copy(from, folder.join(name)).unwrap();
        }
    }
    let modules = json!([{ "type": "sentence_transformers.models.Transformer", "path": "" }]);
    std::fs::write(folder.join("modules.json"), modules.to_string()).unwrap();
    let model = EmbeddingModel::load(folder.to_str().unwrap()).unwrap();
    let documents = [&*"a man eats bread ".repeat(4), "the rocket", "reading"];
    let vectors = |texts: &[&str]| model.embed_tokens(texts.iter().copied(), EmbedOptions::default()).unwrap().texts;
    let (query, rows) = (vectors(&["who eats"]).remove(0), vectors(&documents));
    let ranking = model.rerank("who eats", documents, RerankOptions::default()).unwrap();
    for result in &ranking.results {
        assert_eq!(result.relevance, late_interaction(&query, &rows[result.index]));
    }
    assert_eq!(ranking.results.len(), 3);
    std::fs::remove_dir_all(folder).unwrap();
}
