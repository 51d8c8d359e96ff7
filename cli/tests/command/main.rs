//! The command as a user runs it: input, output and exit status.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod chat;
mod decide;
mod deploy;
mod encrypted;
#[path = "../../../hub/tests/fake/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "tests of several crates use it")]
mod fake;
mod output;
mod packed;
mod pull;
mod speak;
#[cfg(unix)]
mod terminal;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Returns the command with a data folder of its own.
fn causerie(test: &str) -> Command {
    let folder = std::env::temp_dir().join(format!("causerie-command-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_causerie"));
    command.env("CAUSERIE_HOME", folder).env("HF_HOME", "/nowhere").env("HF_HUB_OFFLINE", "1").stdin(Stdio::null());
    command
}

fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(path)
}

/// Runs the command with lines on standard input.
fn typed(command: &mut Command, lines: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn check_failure(command: &mut Command, code: i32, expect: &str) {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code));
    assert!(text(&output.stderr).contains(expect), "{}", text(&output.stderr));
}

#[test]
fn a_request_leads_to_a_call_its_result_and_an_answer() {
    let output = causerie("timer").args(["chat", "Set a timer for 12 minutes for the pasta"]).output().unwrap();
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], r#"→ set_timer(duration=12, unit="minutes", label="pasta")"#);
    assert!(lines[1].starts_with(r#"← {"timer": "pasta", "duration": "12 minutes", "rings_at": ""#), "{}", lines[1]);
    assert!(lines[2].contains("pasta"), "{printed}");
    assert!(output.status.success());
}

/// Without the limit of turns, the demo model mixes parts of old messages into its answer after ten requests.
#[test]
fn a_long_conversation_keeps_its_answers() {
    let requests = [
        "good evening",
        "what can you help me with?",
        "what time is it in Nairobi?",
        "set a timer for 25 minutes for the bread",
        "and one for 90 seconds",
        "how long is left on my timers?",
        "what is 15% of 84",
        "convert 10 stone to kilograms",
        "note that Anna's train arrives at 18:40",
        "also remember to water the ferns",
        "what have I noted so far?",
    ];
    let output = typed(causerie("long").arg("chat"), &(requests.join("\n") + "\n"));
    let printed = text(&output.stdout);
    assert!(printed.ends_with("\nYour notes: Anna's train arrives at 18:40, water the ferns.\n"), "{printed}");
}

#[test]
fn a_conversation_continues_over_several_lines() {
    let output = typed(causerie("notes").arg("chat"), "Note: buy milk\n\nWhat are my notes?\n");
    let printed = text(&output.stdout);
    assert!(printed.contains(r#"→ add_note(text="buy milk")"#), "{printed}");
    assert!(printed.contains(r#"← {"notes": ["buy milk"]}"#), "{printed}");
    assert!(output.status.success());
}

#[test]
fn calls_can_be_hidden() {
    let output = causerie("hidden").args(["chat", "--show-calls", "false", "What is 12 times 7?"]).output().unwrap();
    let printed = text(&output.stdout);
    assert!(!printed.contains('→') && !printed.contains('←'), "{printed}");
    assert!(printed.contains("84"), "{printed}");
}

#[test]
fn the_user_types_the_results_of_other_functions() {
    let functions = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../server/src/chat/functions.json");
    let mut command = causerie("tools");
    command.args(["chat", "What time is it in Lisbon?", "--functions"]).arg(functions);
    let output = typed(&mut command, "{\"time\": \"14:05\", \"city\": \"Lisbon\"}\n");
    let printed = text(&output.stdout);
    assert!(printed.starts_with("→ get_time(city=\"Lisbon\")\nResult of get_time"), "{printed}");
    assert!(printed.contains("It is 14:05"), "{printed}");
    assert!(output.status.success());
}

#[test]
fn generate_continues_a_prompt_and_repeats_with_a_seed() {
    let run = || {
        let mut command = causerie("generate");
        command.arg("generate").arg("--model").arg(fixture("models/lfm2-q4_k.gguf"));
        command.args(["--prompt", "Once", "--raw", "--max-tokens", "12", "--seed", "7", "--verbose"]).output().unwrap()
    };
    let (first, second) = (run(), run());
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert_eq!(first.stdout, second.stdout);
    assert!(text(&first.stderr).contains("seed 7"), "{}", text(&first.stderr));
}

/// The stack on which prompts are prepared alone exceeds the limit.
#[cfg(target_os = "linux")]
#[test]
fn texts_that_were_cut_are_named() {
    let long = "man ".repeat(100);
    for (model, arguments, expect) in [
        ("bert", &["embed", "a", &long][..], "text 2 was too long"),
        ("bert-rank-f16.gguf", &["rerank", "who", "a", &long], "document 2 and the query were too long"),
    ] {
        let mut command = causerie("cut");
        let output = command.args(arguments).arg("--model").arg(fixture(&format!("models/{model}"))).output().unwrap();
        let err = text(&output.stderr);
        assert!(output.status.success() && err.starts_with(expect) && err.lines().count() == 1, "{err}");
    }
}

#[test]
fn a_model_that_exceeds_the_limit_on_memory_is_refused_in_one_line() {
    let mut command = Command::new("sh");
    let limited = r#"ulimit -v 250000 && exec "$0" "$@""#;
    command.args(["-c", limited, env!("CARGO_BIN_EXE_causerie"), "generate", "--prompt", "Hi", "--model"]);
    command.arg(fixture("../../models/demo.gguf"));
    check_failure(&mut command, 1, "memory for the model must be at least");
}

#[test]
fn the_context_size_can_be_set() {
    let mut command = causerie("context");
    command.args(["chat", "--context", "16", "Hello!"]);
    check_failure(&mut command, 1, "the context holds 16");
    let mut command = causerie("context");
    command.arg("generate").arg("--model").arg(fixture("models/lfm2-q4_k.gguf"));
    command.args(["--context", "4", "--prompt", "Once upon a time", "--raw"]);
    check_failure(&mut command, 1, "the context holds 4");
}

#[test]
fn a_hugging_face_folder_is_a_model() {
    let mut command = causerie("folder");
    command.arg("generate").arg("--model").arg(fixture("models/lfm2-hf-sharded")).args([
        "--prompt",
        "a",
        "--max-tokens",
        "3",
    ]);
    assert!(command.output().unwrap().status.success());
}

#[test]
fn inspect_shows_what_the_engine_sees() {
    let lines = "{\"text\": \"Hi <|tool_call_start|>[f(a=07)]<|tool_call_end|>\"}\n{\"pieces\": [{\"text\": \"[f\"}, {\"text\": \"()]\"}]}\n";
    let output = typed(causerie("inspect").args(["inspect", "calls", "--format", "python"]), lines);
    let expect = concat!(
        r#"[{"text": "Hi "}, {"calls": [{"name": "f", "arguments": {"a": 7}, "repairs": ["leading_zero"]}]}]"#,
        "\n",
        r#"[{"text": "[f()]"}]"#,
        "\n"
    );
    assert_eq!(text(&output.stdout), expect);

    let forms = r#"`{"pieces": [{"control": …}, {"text": …}]}`"#;
    let help = text(&causerie("inspect").args(["inspect", "calls", "--help"]).output().unwrap().stdout);
    assert!(help.split_whitespace().collect::<Vec<_>>().join(" ").contains(forms), "{help}");

    let lines = "{\"text\": \"<escape>[f(a=1)]\"}\n";
    let functions = std::env::temp_dir().join(format!("causerie-command-functions-{}.json", std::process::id()));
    std::fs::write(&functions, r#"[{"name": "f"}]"#).unwrap();
    let mut command = causerie("inspect");
    let output = typed(command.args(["inspect", "calls", "--format", "llama", "--functions"]).arg(&functions), lines);
    assert_eq!(text(&output.stdout), "[{\"text\": \"<escape>[f(a=1)]\"}]\n"); // a token of another notation is text
    let lines = "{\"text\": \"[f(a=1)]\"}\n";
    let mut command = causerie("inspect");
    let output = typed(command.args(["inspect", "calls", "--format", "llama", "--functions"]).arg(&functions), lines);
    let expect = "[{\"calls\": [{\"name\": \"f\", \"arguments\": {\"a\": 1}, \"repairs\": []}]}]\n";
    assert_eq!(text(&output.stdout), expect);
    std::fs::remove_file(functions).unwrap();

    let output = typed(causerie("inspect").args(["inspect", "tokens", "--json"]), "<|im_end|>");
    let expect = "{\"id\": 1, \"piece\": \"<|startoftext|>\"}\n{\"id\": 7, \"piece\": \"<|im_end|>\"}\n";
    assert_eq!(text(&output.stdout), expect);

    let folder = std::env::temp_dir().join(format!("causerie-command-inspect-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("messages.json"), r#"[{"role": "user", "content": "Hi"}]"#).unwrap();
    std::fs::write(folder.join("tools.json"), r#"[{"name": "f", "description": "Does."}]"#).unwrap();
    let schema = r#"{"name": "f", "description": "Does."}"#; // as it was given
    let mut command = causerie("inspect-schema");
    let output = command.args(["inspect", "schema", "--functions"]).arg(folder.join("tools.json")).output().unwrap();
    assert_eq!(text(&output.stdout), format!("{schema}\n"));
    let mut command = causerie("inspect-schema");
    let output =
        command.args(["inspect", "schema", "--json", "--functions"]).arg(folder.join("tools.json")).output().unwrap();
    assert_eq!(text(&output.stdout), format!("[{{\"type\": \"function\", \"function\": {schema}}}]\n"));
    let grammar = |what: &str| {
        let mut command = causerie("inspect-grammar");
        command.args(["inspect", what, "--functions"]).arg(folder.join("tools.json"));
        command
    };
    assert!(text(&grammar("grammar").output().unwrap().stdout).contains("\"f()\""));
    let lines = "{\"text\": \"<|tool_call_start|>[f()]<|tool_call_end|>\"}\n{\"text\": \"[f(a=1)]\"}\n";
    let expect = concat!(
        r#"{"accepted": true}"#,
        "\n",
        r#"{"accepted": false, "at": 3, "rest": "a=1)]", "expected": ")", "can_end": false}"#,
        "\n"
    );
    assert_eq!(text(&typed(&mut grammar("constrain"), lines).stdout), expect);
    let mut command = causerie("inspect-prompt");
    command.args(["inspect", "prompt", "--messages"]).arg(folder.join("messages.json"));
    let output = command.arg("--functions").arg(folder.join("tools.json")).output().unwrap();
    let list = format!("List of tools: <|tool_list_start|>[{schema}]<|tool_list_end|>");
    let expect = format!(
        "<|startoftext|><|im_start|>system\n{list}<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    );
    assert_eq!(text(&output.stdout), expect);
}

#[test]
fn a_folder_is_quantised_to_a_file_that_can_be_used() {
    let output = std::env::temp_dir().join(format!("causerie-command-quantize-{}.gguf", std::process::id()));
    let _ = std::fs::remove_file(&output);
    let quantize = |kind: &str| {
        let mut command = causerie("quantize");
        command.arg("quantize").arg(fixture("models/lfm2-hf-sharded")).args(["--type", kind, "--output"]).arg(&output);
        command
    };
    check_failure(&mut quantize("q3_k"), 2, "type must be one of q8_0, q6_k, q5_k_m, q4_k_m, q4_0, found \"q3_k\"");
    let printed = quantize("q8_0").output().unwrap();
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    assert!(text(&printed.stdout).contains(".gguf: ") && text(&printed.stdout).contains("(Q8_0 9"), "{printed:?}");
    check_failure(&mut quantize("q4_0"), 1, "the output must not exist yet, found ");

    let mut command = causerie("quantized");
    command.arg("generate").arg("--model").arg(&output).args(["--prompt", "a", "--max-tokens", "3"]);
    assert!(command.output().unwrap().status.success());
    std::fs::remove_file(output).unwrap();
}

#[test]
fn a_bundle_is_made_listed_verified_and_loaded() {
    let output = std::env::temp_dir().join(format!("causerie-command-{}.bundle", std::process::id()));
    let _ = std::fs::remove_file(&output);
    let make = || {
        let mut command = causerie("bundle-make");
        command.args(["bundle", "make"]).arg(fixture("models/lfm2-q4_0.gguf")).arg("--output").arg(&output);
        command
    };
    let bundle = |action: &str, options: &[&str]| {
        let mut command = causerie("bundle");
        command.args(["bundle", action]).arg(&output).args(options);
        command
    };
    let made = make().output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).starts_with("lfm2-q4_0.gguf") && text(&made.stdout).contains("1 files"), "{made:?}");
    check_failure(&mut make(), 1, "the output must not exist yet, found ");
    let listed = text(&bundle("list", &["--json"]).output().unwrap().stdout);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed["path"], &listed["size"]), (&"lfm2-q4_0.gguf".into(), &133_568.into()));
    assert!(text(&bundle("verify", &[]).output().unwrap().stdout).contains("all files are as its manifest says"));

    let mut command = causerie("bundled");
    command.arg("generate").arg("--model").arg(&output).args(["--prompt", "a", "--max-tokens", "3"]);
    assert!(command.output().unwrap().status.success());
    let mut bytes = std::fs::read(&output).unwrap();
    let last_weights = bytes.len() - 10_000;
    bytes[last_weights] ^= 1;
    std::fs::write(&output, bytes).unwrap();
    check_failure(&mut bundle("verify", &[]), 1, "is damaged: lfm2-q4_0.gguf");
    std::fs::remove_file(output).unwrap();
}

/// The weights are not read: this file has a hole in their place.
#[test]
fn a_model_is_described_from_its_header() {
    let whole = std::fs::read(fixture("models/lfm2moe-q8_0.gguf")).unwrap();
    let folder = std::env::temp_dir().join(format!("causerie-hollow-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("hollow.gguf");
    let n_tensor_bytes = 80_000; // of 84 KB after the header
    std::fs::write(&path, &whole[..whole.len() - n_tensor_bytes]).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(whole.len() as u64).unwrap();

    let inspect = |path: &std::path::Path, options: &[&str]| {
        text(&causerie("model").args(["inspect", "model"]).arg(path).args(options).output().unwrap().stdout)
    };
    let json = ["--json", "--context", "1000"];
    assert_eq!(inspect(&path, &json), inspect(&fixture("models/lfm2moe-q8_0.gguf"), &json));
    let described: serde_json::Value = serde_json::from_str(&inspect(&path, &json)).unwrap();
    for (at, expect) in [
        ("/architecture", serde_json::json!("lfm2moe")),
        ("/layers", 4.into()),
        ("/attention_layers", 1.into()),
        ("/hidden_size", 32.into()),
        ("/heads", 4.into()),
        ("/key_value_heads", 2.into()),
        ("/head_size", 8.into()),
        ("/experts", 5.into()),
        ("/experts_used", 2.into()),
        ("/context_size", 128.into()),
        ("/vocabulary", 512.into()),
        ("/quantisation/0/name", "Q8_0".into()),
        ("/tokenizer", "gpt2 (lfm2)".into()),
        ("/chat_template", true.into()),
        ("/capabilities/function_calling", true.into()),
        // One layer of 2 heads: keys of 8 and values of 8 that take 16, 2 bytes each, for 1024 tokens.
        ("/memory/key_values", (2 * (8 + 16) * 2 * 1024).into()),
        // Three layers that remember two inputs of 32.
        ("/memory/convolutions", (3 * 2 * 32 * 4).into()),
        ("/problems", serde_json::json!([])),
    ] {
        assert_eq!(described.pointer(at), Some(&expect), "{at}");
    }
    let parts: u64 = ["weights", "key_values", "convolutions", "delta_nets", "working"]
        .iter()
        .map(|part| described["memory"][part].as_u64().unwrap())
        .sum();
    assert_eq!(described["memory"]["total"], parts);

    let printed = inspect(&path, &[]);
    assert!(printed.contains("experts        5, 2 per token"), "{printed}");
    // A folder without a tokenizer is described as far as possible.
    let printed = inspect(&fixture("models/mistral"), &[]);
    assert!(printed.contains("window         16 tokens") && printed.contains("tokenizer.json is missing"), "{printed}");
    check_failure(causerie("model").args(["inspect", "model", "none.gguf"]), 1, "causerie: no model at none.gguf\n");
    check_failure(
        causerie("model").args(["inspect", "model", "--context", "0"]),
        2,
        "must be an integer from 1 to 16777216",
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn speed_is_measured_for_each_number_of_threads() {
    let model = fixture("models/lfm2-q4_0.gguf");
    let mut command = causerie("bench");
    command.args(["bench", "-p", "24", "-n", "8", "-t", "2,1", "--repeats", "2", "--model"]).arg(&model);
    let printed: serde_json::Value = serde_json::from_slice(&command.arg("--json").output().unwrap().stdout).unwrap();
    assert_eq!((&printed["architecture"], &printed["quantisation"]), (&"lfm2".into(), &"Q4_0".into()));
    let runs = printed["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["threads"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 1]);
    for run in runs {
        assert_eq!(run["replies"].as_array().unwrap().len(), 2);
        for measure in
            ["prefill_tokens_per_second", "decode_tokens_per_second", "time_to_first_token_seconds", "load_seconds"]
        {
            assert!(0.0 < run[measure].as_f64().unwrap(), "{measure}: {run}");
        }
        // The median of two is their mean.
        let rates = run["replies"].as_array().unwrap().iter().map(|reply| &reply["decode_tokens_per_second"]);
        let mean = rates.map(|rate| rate.as_f64().unwrap()).sum::<f64>() / 2.0;
        assert_eq!(run["decode_tokens_per_second"].as_f64().unwrap(), mean);
        if cfg!(target_os = "linux") {
            assert!(1 << 20 < run["memory_bytes"].as_u64().unwrap(), "{run}");
            assert!(run["memory_bytes"].as_u64() <= run["peak_memory_bytes"].as_u64(), "{run}");
            let [private, mapped] =
                ["private_memory_bytes", "mapped_memory_bytes"].map(|part| run[part].as_u64().unwrap());
            assert!(0 < private && 0 < mapped, "{run}");
        }
    }
    let mut command = causerie("bench");
    command.args(["bench", "-p", "4000", "-n", "100", "--model"]).arg(&model);
    check_failure(&mut command, 1, "prompt and reply need 4100 tokens, and the context holds 4096");
    check_failure(causerie("bench").args(["bench", "-t", "0"]), 2, "must be an integer from 1 to 1024");
}

#[test]
fn errors_are_reported_in_one_line() {
    let generate = |model: &str| {
        let mut command = causerie("wrong");
        command.args(["generate", "--prompt", "a", "--model", model]);
        command
    };
    check_failure(&mut generate("none.gguf"), 1, "causerie: no model at none.gguf\n");
    check_failure(&mut generate("org/model"), 1, "org/model is not in the local cache, and requests are switched off");
    let readme = fixture("calls/README.md");
    check_failure(&mut generate(readme.to_str().unwrap()), 1, "not a GGUF file");
    check_failure(generate("none.gguf").args(["--temperature", "-1"]), 1, "temperature must be 0 or more, found -1");
    check_failure(causerie("wrong").args(["chat", "--functions", "none.json", "a"]), 1, "cannot read none.json");
    check_failure(causerie("wrong").args(["generate", "--prompt", "a"]), 2, "--model");
    check_failure(&mut causerie("wrong"), 2, "Usage");
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_a_reply() {
    let mut command = causerie("interrupt");
    command.arg("generate").arg("--model").arg(fixture("models/lfm2-f32.gguf")).args([
        "--prompt",
        "a",
        "--temperature",
        "0",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0]).unwrap();
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let mut rest = Vec::new();
    out.read_to_end(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
