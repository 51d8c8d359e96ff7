// What the package is given: values of wrong types, text that is not Unicode, numbers of any size.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { cosineSimilarity, EmbeddingModel, loadScriptedModel, ModelRunner, readModelInfo, Response } from "causerie";

const call = (text) => [{ control: "<|tool_call_start|>" }, text, { control: "<|tool_call_end|>" }];
const scripted = (...replies) => loadScriptedModel({ replies });
const conversation = () => scripted(["Hello"]).createConversation();
const load = (options) => ModelRunner.load("causerie/demo", options);

const wrong = [
  [() => scripted().createConversation(5), "systemPrompt must be a string, found 5"],
  [() => scripted().createConversation("", { name: "f" }), "functions must be an array of functions, found an object"],
  [() => scripted().createConversation("", [null]), "functions[0] must be a function, found null"],
  [() => scripted().createConversation("", ["get_weather"]), 'functions[0] must be a function, found "get_weather"'],
  [() => scripted().createConversation("", [{ name: "f" }, { name: "g", run: "x" }]), 'functions[1].run must be a function, found "x"'],
  [() => scripted().createConversation("", [{ name: "f", parameters() {} }]), "functions[0].parameters must be a JSON Schema, found a function"],
  [() => conversation().respond("Hi", { schema() {} }), "schema must be text or JSON, found a function"],
  [() => scripted().createConversationFromHistory({}), "history must be an array of messages, found an object"],
  [() => scripted().createConversationFromHistory(), "history must be an array of messages, found undefined"],
  [() => scripted().createConversationFromHistory(["Hi", null]), "history[1] must be a string, an array of parts or a message, found null"],
  [() => scripted().restoreSession(), "path must be a string, found undefined"],
  [() => scripted().tokenize(["Hi"]), "text must be a string, found an array"],
  [() => scripted().complete(5), "prompt must be a string, found 5"],
  [() => scripted().complete("Hi", 5), "options must be an object, found 5"],
  [() => loadScriptedModel(), "script must be an object, found undefined"],
  [() => readModelInfo(5n), "model must be a string or a file URL, found 5n"],
  [() => conversation().registerFunction(null), "definition must be a function, found null"],
  [() => conversation().registerFunction({ name: "f", run: 5 }), "definition.run must be a function, found 5"],
  [() => conversation().unregisterFunction(Symbol("f")), "name must be a string, found Symbol(f)"],
  [() => conversation().append(), "message must be a string, an array of parts or a message, found undefined"],
  [() => conversation().saveSession(5), "path must be a string, found 5"],
  [() => conversation().saveSession("x", { includeCache: "yes" }), 'includeCache must be true or false, found "yes"'],
  [() => conversation().generateResponse(5), "message must be a string, an array of parts or a message, found 5"],
  [() => conversation().generateResponse([{ type: "image", data: new ArrayBuffer(3) }]), "message.content[0].data must be a Uint8Array, found an ArrayBuffer"],
  [() => conversation().generateResponse("Hi", { functions: 5 }), "functions must be an array of functions, found 5"],
  [() => conversation().generateResponse("Hi", { signal: 5 }), "signal must be an AbortSignal, found 5"],
  [() => conversation().respondWithFunctions("Hi", null), "functions must be an array of functions or an object of handlers, found null"],
  [() => conversation().respondWithFunctions("Hi", { f: 5 }), "functions.f must be a function, found 5"],
  [() => cosineSimilarity(5, [1]), "one must be an array of numbers, found 5"],
  [() => new Response(), "use a Conversation to create a response"],
  [() => load(5), "options must be an object, found 5"],
  [() => ModelRunner.load(), "model must be a string or a file URL, found undefined"],
  [() => EmbeddingModel.load(null), "model must be a string or a file URL, found null"],
  [() => EmbeddingModel.load("x", []), "options must be an object, found an array"],
  [() => scripted().decide("Hi", [], 5), "options must be an object, found 5"],
  [() => conversation().respond("Hi", 5), "options must be an object, found 5"],
  [() => conversation().respond("Hi", new Map()), "options must be an object, found a Map"],
  [() => conversation().respond(new Date(0).getTime), "message must be a string, an array of parts or a message, found a function"],
];
for (const [work, message] of wrong) {
  test(`a wrong argument is named: ${message}`, async () => assert.rejects(async () => work(), { name: "TypeError", message }));
}

test("what returns a promise never throws at once", async () => {
  for (const work of [() => conversation().respond(5), () => conversation().respond("Hi", { functions: 5 }), () => ModelRunner.load()]) {
    await work().then(() => assert.fail("must be refused"), (error) => assert.equal(error.name, "TypeError"));
  }
});

test("options may be null, and a function without a name is refused by the engine", async () => {
  assert.equal((await conversation().respond("Hi", null)).text, "Hello");
  const nameless = { description: "", run: () => 1 };
  assert.throws(() => conversation().registerFunction(nameless), { code: "serialization", message: /functions\[0\].name is missing/ });
  await assert.rejects(conversation().respondWithFunctions("Hi", [nameless]).complete(), { message: /functions\[0\].name is missing/ });
});

test("options of other calls are refused", async () => {
  await assert.rejects(conversation().respondWithFunctions("Hi", [], { functions: [] }).complete(), { code: "invalid_option" });
  await assert.rejects(scripted(["Hello"]).complete("Hi", { functions: [] }).complete(), { code: "invalid_option" });
});

test("a message whose content is misspelt is refused with the field that it has", () => {
  for (const role of ["user", "system", "tool"]) {
    const error = { code: "invalid_message", message: "message.content is missing, found contents" };
    assert.throws(() => conversation().append({ role, contents: "x" }), error);
  }
  const history = [{ role: "system", tools: [] }, { role: "user", content: null, mark: 1 }, { role: "assistant", refusal: "No." }];
  assert.equal(scripted().createConversationFromHistory(history).history.length, 3);
});

test("an integer of any size is passed exactly", async () => {
  const seed = 2n ** 64n - 1n;
  const model = await load({ cacheBytes: 2n ** 60n, contextSize: 512n });
  assert.equal(model.info.contextSize, 512);
  const end = await model.createConversation().respond("Hi", { seed, maxTokens: 1n });
  assert.equal(end.stats.seed, String(seed));
  await assert.rejects(model.createConversation().respond("Hi", { seed: 2n ** 64n }), { code: "invalid_option", message: /^seed must be/ });
  await model.unload();

  const given = { id: "a", type: "function", function: { name: "f", arguments: { n: 12345678901234567890123n } } };
  const [message] = scripted().createConversationFromHistory([{ role: "assistant", content: null, tool_calls: [given] }]).history;
  assert.equal(message.tool_calls[0].function.arguments, '{"n": 12345678901234567890123}');
});

test("the specification's names of parsers are taken, as the engine's", async () => {
  const table = readFileSync(join(process.env.CAUSERIE_ROOT, "core/src/notation/mod.rs"), "utf8");
  const rows = [...table.matchAll(/^ *\w+: (\w+FunctionCallParser), \w+, \["(\w+)"/gm)].map(([, ...names]) => names);
  assert.ok(rows.length > 2);
  const model = await load();
  const weather = { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } };
  const reply = async (functionCallParser) => {
    const options = { functionCallParser, temperature: 0, maxTokens: 24 };
    const { message, text } = await model.createConversation("", [weather]).respond("What is the weather in Oslo?", options);
    return { message, text };
  };
  for (const [long, short] of [...rows, ["ModelFunctionCallParser", "model"]]) assert.deepEqual(await reply(long), await reply(short), long);
  assert.ok((await reply("DefaultFunctionCallParser")).message.tool_calls);
  assert.equal((await reply("JsonStyleFunctionCallParser")).message.tool_calls, undefined);
  for (const wrong of ["YamlFunctionCallParser", "constructor", 5]) {
    const message = new RegExp(`^functionCallParser must be .*, found ${JSON.stringify(wrong)}$`);
    await assert.rejects(reply(wrong), { code: "invalid_option", message });
  }
  await model.unload();
});

test("half of a surrogate pair is U+FFFD everywhere, and whole pairs stay", async () => {
  const [half, whole] = ["a\ud800b \\ud800 \u{1f600}", "a\ufffdb \\ud800 \u{1f600}"];
  const model = scripted(call(`[f(x="1")]`), ["Done"], [JSON.stringify(whole)]);
  assert.deepEqual(model.createConversation(half).history, [{ role: "system", content: whole }]);
  const history = [{ role: "user", content: half, [half]: half }, { role: "assistant", content: [half] }];
  const [first, second] = model.createConversationFromHistory(history).history;
  assert.deepEqual([first.content, first[whole], second.content], [whole, whole, whole]);

  const properties = { x: { type: "string", description: half, enum: ["1", half] } };
  const f = { name: "f", description: half, parameters: { type: "object", properties }, run: () => half };
  const conversation = model.createConversation("", [f]);
  const registered = conversation.functions[0].function;
  assert.equal(registered.description, whole);
  assert.deepEqual(registered.parameters.properties.x, { type: "string", description: whole, enum: ["1", whole] });
  assert.equal((await conversation.respond(half, { stopSequences: ["\udfff"] })).text, "Done");
  assert.deepEqual(conversation.history.slice(1).map(({ content }) => content), [whole, null, whole, "Done"]);
  assert.equal((await conversation.respond("Say it", { schema: { enum: [half] } })).value, whole);

  const demo = await load();
  assert.deepEqual(demo.tokenize(half), demo.tokenize(whole));
  const question = (instructions) => [{ type: "predicate", instructions }];
  const answers = async (text) => (await demo.decide(text, question(text))).answers;
  assert.deepEqual(await answers(half), await answers(whole));
  assert.throws(() => readModelInfo("/nowhere\ud800"), { message: /\ufffd/ });
  await demo.unload();
});

test("what JSON cannot have is refused with its place", async () => {
  const cyclic = {};
  cyclic.self = cyclic;
  for (const [extra, message] of [
    [new Map(), "message.extra must be text or JSON, found a Map"],
    [[1, Promise.resolve()], "message.extra[1] must be text or JSON, found a Promise"],
    [new Uint8Array(3), "message.extra must be text or JSON, found a Uint8Array"],
    [NaN, "message.extra must be finite, found NaN"],
    [cyclic, "message.extra.self must not contain itself"],
  ]) {
    assert.throws(() => conversation().append({ role: "user", content: "Hi", extra }), { name: "SdkError", code: "serialization", message });
  }
  let deep = [];
  for (let level = 0; level < 20_000; level++) deep = [deep];
  await assert.rejects(conversation().respond("Hi", { schema: deep }), { code: "invalid_option", message: "schema must not be nested more than 1000 deep" });
  await assert.rejects(load({ generationDefaults: { topP: NaN } }), { code: "invalid_option", message: "topP must be finite, found NaN" });
  const templateVariables = { my_list: [-Infinity] };
  await assert.rejects(conversation().respond("Hi", { templateVariables }), { message: "templateVariables.my_list[0] must be finite, found -Infinity" });
});
