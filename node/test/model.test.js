import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { loadScriptedModel, ModelRunner, readModelInfo, SdkError } from "causerie";

const call = (text) => [{ control: "<|tool_call_start|>" }, text, { control: "<|tool_call_end|>" }];
const weather = {
  name: "weather",
  description: "The weather in a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

async function events(response) {
  const read = [];
  for await (const event of response) read.push(event);
  return read;
}

test("the demo model calls a function and answers from its result", async () => {
  const model = await ModelRunner.load("causerie/demo");
  assert.equal(model.info.architecture, "lfm2");
  assert.equal(readModelInfo("causerie/demo").supportsFunctionCalling, true);
  const conversation = model.createConversation("You are a small assistant on this device.");
  const asked = [];
  const run = async ({ city }) => (asked.push(city), { sky: "sunny" });
  const reply = conversation.respondWithFunctions("What is the weather in Oslo?", [{ ...weather, run }], { temperature: 0 });
  const read = await events(reply);
  assert.deepEqual(asked, ["Oslo"]);
  const result = read.find(({ type }) => type === "functionResult");
  assert.deepEqual([result.name, result.text, result.isError], ["weather", '{"sky": "sunny"}', false]);
  const end = read.at(-1);
  assert.equal(end.type, "complete");
  assert.match(end.text, /sunny/);
  assert.ok(end.stats.completionTokens > 0);
  await model.unload();
  await assert.rejects(conversation.respond("Hello!"), { name: "SdkError", code: "model_unloaded" });
});

test("packed weights are written once, and mapped or read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "causerie-packed-"));
  const reply = async (options) => {
    const model = await ModelRunner.load(join(process.env.CAUSERIE_ROOT, "models/demo.gguf"), options);
    const end = await model.createConversation().respond("Hello!", { temperature: 0, maxTokens: 4 });
    await model.unload();
    return end.text;
  };
  const plain = await reply();
  for (const weightMemory of ["mapped", "copied", "auto"]) {
    assert.equal(await reply({ packedFolder: folder, weightMemory }), plain);
    assert.equal(readdirSync(folder).filter((name) => name.endsWith(".packed")).length, 1);
  }
  rmSync(folder, { recursive: true });
});

test("a GPU that does not exist is refused, or replaced by the CPU", async () => {
  const gpuName = "no such GPU";
  const refused = await ModelRunner.load("causerie/demo", { device: "gpu", gpuName }).catch((error) => error);
  assert.equal(refused.code, "invalid_option");
  const model = await ModelRunner.load("causerie/demo", { device: "auto", gpuName, gpuBytes: 2 ** 40 });
  // Builds without GPUs have nothing to note: they always take the CPU.
  assert.equal(model.deviceNote === null, refused.message.includes("this build does not have"));
  assert.equal(model.info.gpu, null);
});

test("a picture is a part of a message", async () => {
  const model = await ModelRunner.load("causerie/demo");
  assert.equal(model.info.supportsImages, true);
  const data = readFileSync(join(process.env.CAUSERIE_ROOT, "tests/fixtures/pictures/circles.png"));
  const content = ["How many red circles are there?", { type: "image", data }];
  const end = await model.createConversation().respond({ role: "user", content }, { temperature: 0 });
  assert.equal(end.text, "There are 3 red circles.");
});

test("text is streamed, and leaving the loop stops the reply", async () => {
  const model = loadScriptedModel({ replies: [["one ", { stall: true }], ["two"]] });
  const conversation = model.createConversation();
  for await (const text of conversation.generateResponse("Count").text) {
    assert.equal(text, "one ");
    break;
  }
  assert.equal(conversation.isGenerating, false);
  assert.equal((await conversation.respond("Go on")).text, "two");
  assert.deepEqual(conversation.history.map(({ content }) => content), ["Count", "one ", "Go on", "two"]);
});

test("a signal cancels a reply", async () => {
  const model = loadScriptedModel({ replies: [["one ", { stall: true }]] });
  const controller = new AbortController();
  let last;
  for await (const event of model.createConversation().generateResponse("Count", { signal: controller.signal })) {
    if (event.type === "chunk") controller.abort();
    last = event;
  }
  assert.deepEqual([last.type, last.finishReason], ["complete", "interrupted"]);
});

test("a signal that has already fired computes nothing", async () => {
  const model = loadScriptedModel({ replies: [["one"]] });
  const end = await model.createConversation().respond("Count", { signal: AbortSignal.abort() });
  assert.deepEqual([end.finishReason, end.text], ["interrupted", ""]);
});

test("what a function throws is the result's error, and the model reads its message", async () => {
  const model = loadScriptedModel({ replies: [call('[weather(city="Oslo")]'), ["No weather."]] });
  const broken = new RangeError("no such city");
  const run = () => { throw broken; };
  const read = await events(model.createConversation().respondWithFunctions("Weather?", [{ ...weather, run }]));
  const result = read.find(({ type }) => type === "functionResult");
  assert.equal(result.isError, true);
  assert.equal(result.error, broken);
  assert.match(result.text, /no such city/);
});

test("a reply is read once", async () => {
  const response = loadScriptedModel({ replies: [["Hello"]] }).createConversation().generateResponse("Hi");
  await response.complete();
  await assert.rejects(response.complete(), { code: "stream_already_consumed" });
});

test("wrong options, paths and arguments are errors with a code", async () => {
  const conversation = loadScriptedModel({ replies: [["Hello"]] }).createConversation();
  await assert.rejects(conversation.respond("Hi", { temprature: 0 }), {
    code: "invalid_option",
    message: "there is no option temprature; did you mean temperature?",
  });
  for (const [options, message] of [
    [{ topP: 2 }, "topP must be between 0 and 1, found 2"],
    [{ maxTokens: "many" }, 'maxTokens must be an integer from 0 on, found "many"'],
    [{ maxToken: 1 }, "there is no option maxToken; did you mean maxTokens?"],
    [{ templateVariables: { enable_thinking: true } }, /^templateVariables must be .*, found enable_thinking$/],
  ]) {
    await assert.rejects(conversation.respond("Hi", options), { code: "invalid_option", message });
  }
  await assert.rejects(ModelRunner.load("/nowhere.gguf"), (error) => error instanceof SdkError && error.code === "model_not_found");
  assert.throws(() => conversation.registerFunction({ name: "not a name" }), { code: "invalid_function" });
  assert.throws(() => new ModelRunner({}), TypeError);
});

test("other work goes on while the model waits", async () => {
  const conversation = loadScriptedModel({ replies: [["one", { stall: true }]] }).createConversation();
  const response = conversation.generateResponse("Hi");
  const reading = response.complete();
  await new Promise((resolve) => setImmediate(resolve));
  response.cancel();
  assert.equal((await reading).finishReason, "interrupted");
});

/** A conversation whose model calls a function once, and then answers. */
const calling = () => loadScriptedModel({ replies: [call('[weather(city="Oslo")]'), ["Done."], ["Fine."]] }).createConversation();

/** The result of the function, and the text of the reply. */
async function resultOf(run, options) {
  const read = await events(calling().respondWithFunctions("Weather?", [{ ...weather, run }], options));
  const { text, isError } = read.find(({ type }) => type === "functionResult");
  return { text, isError, reply: read.at(-1).text };
}

test("a result that JSON does not have is null", async () => {
  for (const value of [undefined, () => 1, Symbol("x"), { toJSON: () => undefined }]) {
    assert.deepEqual(await resultOf(() => value), { text: "null", isError: false, reply: "Done." });
  }
});

test("a result that cannot be passed on is a failure that the model reads", async () => {
  let deep = [];
  for (let level = 0; level < 130; level++) deep = [deep];
  const cyclic = {};
  cyclic.self = cyclic;
  for (const value of [deep, cyclic]) {
    const { text, isError, reply } = await resultOf(() => value);
    assert.equal(isError, true);
    assert.ok(JSON.parse(text).error);
    assert.equal(reply, "Done.");
  }
});

test("a time limit above that of timers is none", async () => {
  const run = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve, "late")));
  assert.equal((await resultOf(run, { timeLimit: 2 ** 31 })).text, "late");
});

test("numbers that are not finite are errors at the first event", async () => {
  for (const options of [{ temperature: NaN }, { timeLimit: Infinity }, { templateVariables: { x: [-Infinity] } }]) {
    const response = calling().respondWithFunctions("Hi", [], options);
    await assert.rejects(response.complete(), { name: "SdkError", code: "invalid_option" });
  }
  await assert.rejects(ModelRunner.load("causerie/demo", { threads: NaN }), { message: "threads must be finite, found NaN" });
});

for (const inParallel of [false, true]) {
  test(`a reply is cancelled while a function runs that never returns, ${inParallel ? "in parallel" : "in turn"}`, async () => {
    const conversation = calling();
    const controller = new AbortController();
    const run = () => (setImmediate(() => controller.abort()), new Promise(() => {}));
    const options = { signal: controller.signal, inParallel, timeLimit: 3600 };
    const end = await conversation.respondWithFunctions("Weather?", [{ ...weather, run }], options).complete();
    assert.equal(end.finishReason, "interrupted");
    assert.equal((await conversation.respond("Go on")).text, "Done.");
  });
}

test("an error of the loop's body, thrown into the iterator, frees the conversation", async () => {
  const conversation = loadScriptedModel({ replies: [["one ", { stall: true }], ["two"]] }).createConversation();
  const iterator = conversation.generateResponse("Count")[Symbol.asyncIterator]();
  await iterator.next();
  await assert.rejects(iterator.throw(new RangeError("stop")), RangeError);
  assert.equal(conversation.isGenerating, false);
  assert.equal((await conversation.respond("Go on")).text, "two");
});

test("a reply that does not start leaves no listener", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  signal.addEventListener = () => listeners++;
  signal.removeEventListener = () => listeners--;
  const conversation = calling();
  await assert.rejects(conversation.respond("Hi", { signal, temprature: 0 }), { code: "invalid_option" });
  assert.equal(listeners, 0);
});

test("a history is truncated to an integer only", () => {
  const conversation = calling();
  conversation.append("Hi");
  for (const count of [1.5, -1, NaN, "0", undefined]) {
    assert.throws(() => conversation.truncate(count), { name: "SdkError", code: "invalid_argument" });
  }
  assert.equal(conversation.history.length, 1);
  conversation.truncate(2 ** 32);
  assert.equal(conversation.history.length, 1);
  conversation.truncate(0);
  assert.equal(conversation.history.length, 0);
});

test("the values that a model's files recommend are replaced by their names in JavaScript", async () => {
  const generationDefaults = { temperature: undefined, topP: 0.9, topK: 20, minP: 0.1, repetitionPenalty: 1.1 };
  const model = await ModelRunner.load("causerie/demo", { generationDefaults });
  await model.unload();
  const tooLarge = ModelRunner.load("causerie/demo", { generationDefaults: { topP: 2 } });
  await assert.rejects(tooLarge, { code: "invalid_option", message: /topP|top_p/ });
});
