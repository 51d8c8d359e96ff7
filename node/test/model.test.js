import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
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
  await assert.rejects(conversation.respond("Hi", { topP: 2 }), { code: "invalid_option" });
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
