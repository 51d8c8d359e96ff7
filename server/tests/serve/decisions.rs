//! Decisions in both forms, with the demo model, which answers such questions badly: only forms and sums are compared.

use causerie::{DecisionOptions, DecisionQuestion, ModelRunner};
use causerie_server::serve::Settings;
use serde_json::{Value as Json, json};

use crate::server::TestServer;

const DECISIONS: &str = "/v1/decisions";
const SYSTEM_ONE: &str = "/v1/systemone";
const STATE: &str = "The kettle boils, and Anna is in the garden.";

fn questions() -> Json {
    json!([
        { "type": "predicate", "instructions": "Is the water hot?", "name": "hot" },
        { "type": "choice", "instructions": "Where is Anna?", "choices": [
            { "value": "kitchen" }, { "value": true, "description": "in the garden" }, { "value": "true" },
        ] },
        { "type": "score", "instructions": [{ "type": "input_text", "text": "How warm is it?" }], "name": null,
          "levels": [{ "label": "cold" }, { "label": "mild", "description": "about 20 degrees" }, { "label": "hot" }] },
    ])
}

fn ask(server: &TestServer, path: &str, body: &Json) -> Json {
    let reply = server.post(path, &body.to_string());
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

/// The demo model's labels have little probability, which would be a refusal.
fn body(more: Json) -> Json {
    let mut body =
        json!({ "model": "causerie/demo", "input": STATE, "questions": questions(), "min_label_probability": 0 });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

fn sum(probabilities: &Json) -> f64 {
    probabilities.as_array().unwrap().iter().map(|entry| entry["probability"].as_f64().unwrap()).sum()
}

#[test]
fn answers_have_the_form_and_the_sums_that_clients_check() {
    let server = TestServer::demo();
    let decided = ask(&server, DECISIONS, &body(json!({})));
    let [hot, place, warmth] = decided["answers"].as_array().unwrap().as_slice() else { panic!("{decided}") };
    assert_eq!((&hot["type"], &hot["name"]), (&json!("predicate"), &json!("hot")));
    assert!((0.0..=1.0).contains(&hot["probability"].as_f64().unwrap()));
    assert_eq!((&place["type"], &place["name"]), (&json!("choice"), &json!(null)));
    let values: Vec<&Json> = place["probabilities"].as_array().unwrap().iter().map(|entry| &entry["value"]).collect();
    assert_eq!(values, [&json!("kitchen"), &json!(true), &json!("true")]);
    let best = place["probabilities"].as_array().unwrap().iter();
    let best = best.max_by(|a, b| a["probability"].as_f64().unwrap().total_cmp(&b["probability"].as_f64().unwrap()));
    assert_eq!(place["choice"], best.unwrap()["value"]);
    let mean: f64 = warmth["probabilities"]
        .as_array()
        .unwrap()
        .iter()
        .fold(0.0, |mean, entry| mean + entry["value"].as_f64().unwrap() * entry["probability"].as_f64().unwrap());
    assert!((warmth["score"].as_f64().unwrap() - mean).abs() < 1e-12);
    for answer in [place, warmth] {
        assert!((sum(&answer["probabilities"]) - 1.0).abs() < 1e-6);
        assert!((0.0..=1.0).contains(&answer["confidence"].as_f64().unwrap()));
    }
    let usage = &decided["usage"];
    assert_eq!((&usage["output_tokens"], &usage["total_tokens"]), (&json!(0), &usage["input_tokens"]));
    assert_eq!(usage["input_tokens_details"], json!({ "cached_tokens": 0, "cache_write_tokens": 0 }));
    let again = ask(&server, DECISIONS, &body(json!({})));
    assert_eq!(again["answers"], decided["answers"]);
    assert!(0 < again["usage"]["input_tokens_details"]["cached_tokens"].as_u64().unwrap());
}

#[test]
fn both_forms_are_what_the_library_decides() {
    let server = TestServer::demo();
    let asked = [
        DecisionQuestion::predicate("Is the water hot?"),
        DecisionQuestion::choice("Where is Anna?", ["kitchen", "garden"]),
        DecisionQuestion::score("How warm is it?", ["cold", "mild", "hot"]),
    ];
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    let options = DecisionOptions { min_label_probability: Some(0.0), ..Default::default() };
    let expect = ModelRunner::load(model).unwrap().decide_with(STATE, &asked, options).unwrap();
    let expect: Vec<Vec<f64>> = expect.answers.iter().map(|answer| answer.outcome.probabilities()).collect();
    let questions = json!([
        { "type": "predicate", "instructions": "Is the water hot?" },
        { "type": "choice", "instructions": "Where is Anna?", "choices": [{ "value": "kitchen" }, { "value": "garden" }] },
        { "type": "score", "instructions": "How warm is it?",
          "levels": [{ "label": "cold" }, { "label": "mild" }, { "label": "hot" }] },
    ]);
    let first = ask(&server, DECISIONS, &body(json!({ "questions": questions })));
    let questions = json!({
        "z": { "type": "noul", "instructions": "Is the water hot?" },
        "a": { "type": "choice", "instructions": "Where is Anna?", "criteria": { "kitchen": null, "garden": null } },
        "m": { "type": "score", "instructions": "How warm is it?", "criteria": ["cold", "mild", "hot"] },
    });
    let second =
        json!({ "model": "causerie/demo", "state": STATE, "questions": questions, "min_label_probability": 0 });
    let second = ask(&server, SYSTEM_ONE, &second);
    let answers = second["answers"].as_object().unwrap();
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["z", "a", "m"]);
    assert_eq!(first["answers"][0]["probability"], json!(expect[0][0]));
    assert_eq!(answers["z"]["noul"], json!(expect[0][0]));
    for (at, name) in [(1, "a"), (2, "m")] {
        let listed = first["answers"][at]["probabilities"].as_array().unwrap();
        let listed: Vec<f64> = listed.iter().map(|entry| entry["probability"].as_f64().unwrap()).collect();
        assert_eq!(listed, expect[at]);
        let named = answers[name]["probabilities"].as_object().unwrap().values();
        assert_eq!(named.map(|value| value.as_f64().unwrap()).collect::<Vec<_>>(), expect[at]);
    }
    assert_eq!(answers["m"]["legend"], json!({ "0": "cold", "1": "mild", "2": "hot" }));
    assert_eq!(second["usage"]["output_tokens"], json!(0));
}

#[test]
fn what_the_model_does_not_answer_is_a_refusal() {
    let server = TestServer::demo();
    let decided = ask(&server, DECISIONS, &body(json!({ "min_label_probability": 1 })));
    let types: Vec<&Json> = decided["answers"].as_array().unwrap().iter().map(|answer| &answer["type"]).collect();
    assert_eq!(types, ["refusal"; 3]);
    assert_eq!(decided["answers"][0]["name"], "hot");
    let question = json!({ "late": { "type": "noul", "instructions": "Is it late?" } });
    let body = json!({ "state": STATE, "questions": question, "min_label_probability": 1 });
    let decided = ask(&server, SYSTEM_ONE, &body);
    assert_eq!((&decided["answers"], &decided["unanswered"]), (&json!({}), &json!(["late"])));
}

#[test]
fn each_kind_of_question_has_its_temperature() {
    let server = TestServer::demo();
    let sharper = |probabilities: &Json| -> Vec<f64> {
        let squares =
            probabilities.as_array().unwrap().iter().map(|entry| entry["probability"].as_f64().unwrap().powi(2));
        let squares: Vec<f64> = squares.collect();
        squares.iter().map(|square| square / squares.iter().sum::<f64>()).collect()
    };
    let plain = ask(&server, DECISIONS, &body(json!({})));
    let warm = ask(&server, DECISIONS, &body(json!({ "temperature": { "choice": 0.5, "noul": 1 } })));
    let found = warm["answers"][1]["probabilities"].as_array().unwrap();
    for (found, expect) in found.iter().zip(sharper(&plain["answers"][1]["probabilities"])) {
        assert!((found["probability"].as_f64().unwrap() - expect).abs() < 1e-9, "{found}, {expect}");
    }
    assert_eq!((&warm["answers"][0], &warm["answers"][2]), (&plain["answers"][0], &plain["answers"][2]));
}

/// A state that is left out is an error, but null is a state: none.
#[test]
fn a_question_may_have_no_state() {
    let server = TestServer::demo();
    let asked = |state: Json| {
        let questions = json!({ "hot": { "type": "noul", "instructions": "Is boiling water hot?" } });
        let body = json!({ "state": state, "questions": questions, "min_label_probability": 0 });
        ask(&server, SYSTEM_ONE, &body)["answers"]["hot"]["noul"].as_f64().unwrap()
    };
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf");
    let question = DecisionQuestion::predicate("Is boiling water hot?");
    let decided = ModelRunner::load(model).unwrap().decide("", &[question]).unwrap();
    assert_eq!(asked(json!(null)), decided.answers[0].outcome.probabilities()[0]);
    assert_ne!(asked(json!(null)), asked(json!("Ice is cold.")));
}

#[test]
fn inputs_are_messages_calls_and_json() {
    let server = TestServer::demo();
    let input = json!([
        { "role": "developer", "content": "Judge the thread." },
        { "type": "message", "role": "user", "content": [
            { "type": "input_text", "text": "Is my parcel here?" },
            { "type": "input_json", "data": { "parcel": 7, "late": true } },
        ] },
        { "type": "function_call", "call_id": "c1", "name": "find", "arguments": "{\"parcel\": 7}" },
        { "type": "function_call_output", "call_id": "c1", "output": "not found" },
        { "role": "assistant", "content": [{ "type": "output_text", "text": "No." }], "phase": "final_answer" },
    ]);
    ask(&server, DECISIONS, &body(json!({ "input": input })));
    let state = json!({ "parcel": { "late": true } });
    let questions = json!({ "late": { "type": "noul", "instructions": { "ask": "Is it late?" }, "criteria": { "true": "so it says" } } });
    ask(&server, SYSTEM_ONE, &json!({ "state": state, "questions": questions }));
}

#[test]
fn errors_name_the_place_in_the_request() {
    let server = TestServer::demo();
    let deep = (0..40).fold(json!({}), |inner, _| json!({ "a": inner }));
    let predicate = json!({ "type": "predicate", "instructions": "Late?" });
    let choice = |choices: Json| json!([{ "type": "choice", "instructions": "Which?", "choices": choices }]);
    let user = |content: Json| json!([{ "role": "user", "content": content }]);
    let output = json!([{ "type": "function_call_output", "call_id": "c9", "output": "x" }]);
    for (fields, param, message) in [
        (json!({ "state": "x" }), "state", "state must be left out"),
        (json!({ "questions": null }), "questions", "questions is required"),
        (json!({ "questions": {} }), "questions", "questions must be an array"),
        (json!({ "questions": [] }), "questions", "questions must have 1 to 400 entries, found 0"),
        (json!({ "questions": vec![predicate; 401] }), "questions", "questions must have 1 to 400 entries, found 401"),
        (json!({ "questions": [{ "type": "predicate" }] }), "questions", "questions[0].instructions is required"),
        (json!({ "questions": [{ "type": "box", "instructions": "x" }] }), "questions", "questions[0].type must be"),
        (
            json!({ "questions": choice(json!([{ "value": "a" }])) }),
            "questions",
            "questions[0].choices must have 2 to 255",
        ),
        (
            json!({ "questions": choice(json!([{ "value": "a" }, { "value": "a" }])) }),
            "questions",
            "questions[0].choices[1].value must differ",
        ),
        (
            json!({ "questions": choice(json!([{ "value": 1 }, { "value": 2 }])) }),
            "questions",
            "questions[0].choices[0].value must be a string or a boolean",
        ),
        (json!({ "input": 3 }), "input", "input must be a string or an array of items"),
        (json!({ "input": output }), "input", "input[0].call_id must be the id of an earlier call"),
        (
            json!({ "input": user(json!([{ "type": "input_json", "data": deep }])) }),
            "input",
            "input[0].content[0].data must have at most 32 levels",
        ),
        (
            json!({ "input": user(json!([{ "type": "text", "text": "x" }])) }),
            "input",
            "input[0].content[0].type must be input_text",
        ),
        (
            json!({ "input": user(json!([{ "type": "input_image", "image_url": "data:image/gif;base64,R0lGODlh" }])) }),
            "input",
            "the image cannot be decoded",
        ),
        (json!({ "temperature": 0 }), "temperature", "temperature must be between 0.01 and 100"),
        (json!({ "temperature": "1" }), "temperature", "temperature must be a number"),
        (json!({ "temperature": { "score": null } }), "temperature", "temperature.score must be a number"),
        (json!({ "temperature": { "noul": 1, "predicate": 2 } }), "temperature", "predicate or noul, found both"),
        (json!({ "temperature": { "scale": 1 } }), "temperature", "temperature.scale must be left out"),
        (json!({ "rotations": 0 }), "rotations", "rotations must be an integer from 1 to 255"),
    ] {
        let reply = server.post(DECISIONS, &body(fields).to_string());
        let error = reply.json()["error"].clone();
        assert_eq!((reply.status, &error["param"]), (400, &json!(param)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
    }
    let named = |question: Json| json!({ "state": "x", "questions": { "late": question } });
    for (body, message) in [
        (json!({ "questions": {} }), "state is required"),
        (json!({ "state": 3, "questions": {} }), "state must be a string, an object or an array"),
        (json!({ "state": "x", "questions": [] }), "questions must be an object"),
        (named(json!({ "type": "box", "instructions": "?" })), "questions.late: type must be noul, choice or score"),
        (
            named(json!({ "type": "score", "instructions": "?", "criteria": ["a"] })),
            "questions.late: criteria must be an array of 2 to 10",
        ),
        (named(json!({ "type": "noul" })), "questions.late: instructions are required without criteria"),
        (json!({ "state": "x", "assets": ["y"], "questions": {} }), "assets"),
    ] {
        let reply = server.post(SYSTEM_ONE, &body.to_string());
        let error = reply.json()["error"].clone();
        assert_eq!(reply.status, 400, "{error}");
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
    }
}

#[test]
fn an_input_that_is_too_long_is_refused_with_its_length() {
    let server = TestServer::demo();
    let reply = server.post(DECISIONS, &body(json!({ "input": STATE.repeat(5_000) })).to_string());
    let error = &reply.json()["error"];
    assert_eq!(
        (reply.status, &error["code"], &error["param"]),
        (400, &json!("context_length_exceeded"), &json!("input"))
    );
    let strict = Settings { strict_fields: true, strict_model: true, ..Settings::default() };
    let model = ModelRunner::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/demo.gguf")).unwrap();
    let server = TestServer::start(model, "causerie/demo", strict);
    assert_eq!(server.post(DECISIONS, &body(json!({ "model": "gpt-6-luna" })).to_string()).status, 404);
    assert_eq!(
        server.post(DECISIONS, &body(json!({ "colour": "red" })).to_string()).json()["error"]["code"],
        "unknown_field"
    );
}
