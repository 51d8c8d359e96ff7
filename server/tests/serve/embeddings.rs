//! Embeddings and reranking.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::TestServer;

fn vectors(reply: &Json) -> Vec<Vec<f64>> {
    let entries = reply["data"].as_array().unwrap().iter();
    entries.map(|entry| serde_json::from_value(entry["embedding"].clone()).unwrap()).collect()
}

#[test]
fn texts_are_embedded_in_every_form_of_input() {
    let server = TestServer::embedding(Settings::default());
    let embed = |body: Json| server.post("/v1/embeddings", &body.to_string());
    let one = embed(json!({ "model": "test/bert", "input": "a man eats bread" })).json();
    assert_eq!((&one["object"], &one["model"]), (&json!("list"), &json!("test/bert")));
    assert_eq!(one["usage"], json!({ "prompt_tokens": 6, "total_tokens": 6 }));
    assert_eq!((vectors(&one).len(), vectors(&one)[0].len()), (1, 32));
    // Its tokens, as tests/golden/embeddings.json has them.
    let ids = json!([2, 43, 110, 113, 115, 3]);
    for input in [json!(["a man eats bread"]), ids.clone(), json!([ids])] {
        assert_eq!(vectors(&embed(json!({ "input": input })).json()), vectors(&one));
    }
    let two = embed(json!({ "input": ["the rocket", "a man eats bread"] })).json();
    assert_eq!((vectors(&two)[1] == vectors(&one)[0], &two["data"][1]["index"]), (true, &json!(1)));
    let encoded = embed(json!({ "input": "a man eats bread", "encoding_format": "base64" })).json();
    let bytes = STANDARD.decode(encoded["data"][0]["embedding"].as_str().unwrap()).unwrap();
    let decoded: Vec<f64> =
        bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).into()).collect();
    assert_eq!(decoded, vectors(&one)[0]);
    let query = embed(json!({ "input": "a man eats bread", "input_type": "query" })).json();
    assert_ne!(vectors(&query), vectors(&one));
    let short = vectors(&embed(json!({ "input": "a man eats bread", "dimensions": 4 })).json());
    assert!((short[0].iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-6 && short[0].len() == 4);
}

#[test]
fn requests_that_cannot_be_answered_name_the_field() {
    let server = TestServer::embedding(Settings { strict_model: true, ..Settings::default() });
    let long = "man ".repeat(100);
    for (path, body, status, param) in [
        ("/v1/embeddings", json!({ "model": "test/bert" }), 400, "input"),
        ("/v1/embeddings", json!({ "model": "test/bert", "input": [] }), 400, "input"),
        ("/v1/embeddings", json!({ "model": "test/bert", "input": "" }), 400, "input"),
        ("/v1/embeddings", json!({ "model": "test/bert", "input": ["a", [1]] , "dimensions": 0 }), 400, "dimensions"),
        ("/v1/embeddings", json!({ "model": "test/bert", "input": ["a", 1] }), 400, "input"),
        ("/v1/embeddings", json!({ "model": "test/bert", "input": [[1, 1_000_000]] }), 400, "input"),
        ("/v1/embeddings", json!({ "model": "test/bert", "input": "a", "dimensions": 33 }), 400, "dimensions"),
        (
            "/v1/embeddings",
            json!({ "model": "test/bert", "input": "a", "encoding_format": "x" }),
            400,
            "encoding_format",
        ),
        ("/v1/embeddings", json!({ "model": "test/bert", "input": long }), 400, "input"),
        ("/v1/embeddings", json!({ "model": "test/script", "input": "a" }), 404, "model"),
        ("/v1/rerank", json!({ "model": "test/ranker", "query": "a" }), 400, "documents"),
        ("/v1/rerank", json!({ "model": "test/ranker", "query": "a", "documents": [] }), 400, "documents"),
        ("/v1/rerank", json!({ "model": "test/ranker", "query": "a", "documents": [1] }), 400, "documents"),
        ("/v1/rerank", json!({ "model": "test/ranker", "query": "a", "documents": ["b"], "top_n": 0 }), 400, "top_n"),
        (
            "/v1/rerank",
            json!({ "model": "test/ranker", "query": "a", "documents": ["b"], "instruction": "c" }),
            400,
            "instruction",
        ),
    ] {
        let reply = server.post(path, &body.to_string());
        let error = &reply.json()["error"];
        assert_eq!((u64::from(reply.status), &error["param"]), (status, &json!(param)), "{body}: {error}");
    }
    let cut = json!({ "model": "test/bert", "input": long, "truncate": true });
    assert_eq!(server.post("/v1/embeddings", &cut.to_string()).json()["usage"]["prompt_tokens"], 32);
}

#[test]
fn documents_are_ranked() {
    let server = TestServer::embedding(Settings::default());
    // Scores of tests/golden/embeddings.json.
    let documents = json!(["a man eats bread", { "text": "the rocket" }]);
    let body = json!({ "query": "who eats", "documents": documents, "return_documents": true });
    let reply = server.post("/v1/rerank", &body.to_string()).json();
    let results = reply["results"].as_array().unwrap();
    let indices: Vec<_> = results.iter().map(|result| result["index"].as_u64().unwrap()).collect();
    assert_eq!((indices, &reply["model"]), (vec![1, 0], &json!("test/ranker")));
    for (result, expect) in results.iter().zip([0.221_193_06, 0.220_698_07]) {
        assert!((result["relevance_score"].as_f64().unwrap() - expect).abs() < 1e-4, "{result}");
    }
    assert_eq!(results[0]["document"], json!({ "text": "the rocket" }));
    assert_eq!(reply["usage"], json!({ "prompt_tokens": 16, "total_tokens": 16 }));
    let best = json!({ "query": "who eats", "documents": documents, "top_n": 1 });
    let best = server.post("/v1/rerank", &best.to_string()).json();
    assert_eq!(best["results"].as_array().unwrap().len(), 1);
    assert_eq!(best["results"][0].get("document"), None);
}
