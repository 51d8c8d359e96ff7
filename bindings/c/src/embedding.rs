//! Decisions, embeddings and rankings: requests and answers are JSON, vectors are numbers.

use std::ffi::c_char;

use causerie::ModelRunner;
use causerie::embedding::EmbeddingModel;
use causerie_plain::{
    DecideRequest, EmbedRequest, RerankRequest, decisions_json, embedding_info_json, embedding_options,
    embeddings_json, ranking_json,
};

use crate::border::{Buffer, Out, Text};
use crate::handles::Handle;

exports! {
    fn causerie_model_decide(model: Handle<ModelRunner>, request: Text, decisions: Out<*const c_char>) {
        decisions.check("decisions")?;
        let DecideRequest { state, questions, options } = DecideRequest::from_json(request.read("request")?)?;
        decisions.give(&decisions_json(&model.get("model")?.decide_with(state, &questions, options)?), "decisions")?;
    }

    fn causerie_model_set_function_ranker(model: Handle<ModelRunner>, ranker: Handle<EmbeddingModel>) {
        let ranker = ranker.get("ranker")?;
        model.get("model")?.set_function_ranker(&ranker)?;
    }

    fn causerie_embedding_model_load(path: Text, options: Text, model: Out<Handle<EmbeddingModel>>) {
        model.check("model")?;
        let options = embedding_options(options.read_optional("options")?.unwrap_or("{}"))?;
        model.write(Handle::new(EmbeddingModel::load_with(path.read("path")?, options)?), "model")?;
    }

    fn causerie_embedding_model_info(model: Handle<EmbeddingModel>, info: Out<*const c_char>) {
        info.give(&embedding_info_json(&model.get("model")?.info()), "info")?;
    }

    fn causerie_embedding_model_embed(
        model: Handle<EmbeddingModel>,
        request: Text,
        vectors: Buffer<f32>,
        capacity: usize,
        count: Out<usize>,
        details: Out<*const c_char>,
    ) {
        let EmbedRequest { texts, options } = EmbedRequest::from_json(request.read("request")?)?;
        let found = model.get("model")?.embed(texts, options)?;
        let values = found.vectors.concat();
        vectors.fill(&values, capacity);
        count.write_if_wanted(|| values.len());
        details.give_if_wanted(Some(&embeddings_json(&found)));
    }

    fn causerie_embedding_model_rerank(model: Handle<EmbeddingModel>, request: Text, ranking: Out<*const c_char>) {
        ranking.check("ranking")?;
        let RerankRequest { query, documents, options } = RerankRequest::from_json(request.read("request")?)?;
        ranking.give(&ranking_json(&model.get("model")?.rerank(&query, documents, options)?), "ranking")?;
    }

    fn causerie_embedding_model_free(model: Handle<EmbeddingModel>) {
        model.free("model")?;
    }
}
