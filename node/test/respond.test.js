import assert from "node:assert/strict";
import { test } from "node:test";

import { loadScriptedModel, SdkError } from "causerie";

const call = (text) => [{ control: "<|tool_call_start|>" }, text, { control: "<|tool_call_end|>" }];
const asked = call('[weather(city="Oslo")]');
const definition = { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } };
const weather = { ...definition, run: ({ city }) => ({ sky: "sunny", city }) };
const list = { type: "array", items: { type: "integer" } };
const recipe = {
  type: "object",
  properties: { title: { type: "string" }, minutes: { type: "integer" } },
  required: ["title", "minutes"],
};

async function read(source) {
  const items = [];
  for await (const item of source) items.push(item);
  return items;
}
const results = (events) => events.filter(({ type }) => type === "functionResult").map(({ text }) => text);

test("a conversation runs the functions that it was made with, if they have run", async () => {
  const conversation = loadScriptedModel({ replies: [asked, ["Sunny."]] }).createConversation("Be brief.", [weather]);
  assert.deepEqual(conversation.history.map(({ role, content }) => [role, content]), [["system", "Be brief."]]);
  assert.deepEqual(conversation.functions.map((tool) => tool.function.name), ["weather"]);
  const events = await read(conversation.generateResponse("Oslo?"));
  assert.deepEqual(results(events), ['{"sky": "sunny", "city": "Oslo"}']);
  assert.equal(events.at(-1).text, "Sunny.");
});

test("a conversation leaves the calls of other functions to the app", async () => {
  for (const offered of [definition, { type: "function", function: definition }]) {
    const conversation = loadScriptedModel({ replies: [asked] }).createConversation(undefined, [offered]);
    assert.equal((await conversation.respond("Oslo?")).finishReason, "tool_calls");
  }
});

test("a function in the form of tools is run if it has run", async () => {
  const tool = { type: "function", function: definition, run: weather.run };
  const model = loadScriptedModel({ replies: Array.from({ length: 4 }, () => [asked, ["Sunny."]]).flat() });
  const registered = model.createConversation();
  registered.registerFunction(tool);
  for (const reply of [
    model.createConversation("", [tool]).generateResponse("Oslo?"),
    model.createConversation().generateResponse("Oslo?", { functions: [tool] }),
    model.createConversation().respondWithFunctions("Oslo?", [tool]),
    registered.respondWithFunctions("Oslo?"),
  ]) {
    assert.deepEqual(results(await read(reply)), ['{"sky": "sunny", "city": "Oslo"}']);
  }
});

test("a reply with functions leaves calls of the ones without run to the app", async () => {
  const conversation = loadScriptedModel({ replies: [asked] }).createConversation();
  assert.equal((await conversation.respondWithFunctions("Oslo?", [definition]).complete()).finishReason, "tool_calls");
});

test("a fork runs the same functions, and one that is registered again or removed is not run", async () => {
  const model = loadScriptedModel({ replies: [asked, ["Sunny."], asked, asked] });
  assert.equal((await model.createConversation("", [weather]).fork().respond("Oslo?")).text, "Sunny.");
  const replaced = model.createConversation("", [weather]);
  replaced.registerFunction(definition);
  assert.equal((await replaced.respond("Oslo?")).finishReason, "tool_calls");
  const removed = model.createConversation("", [weather]);
  assert.equal(removed.unregisterFunction("weather"), true);
  assert.equal((await removed.respond("Oslo?")).finishReason, "tool_calls");
});

test("an answer takes functions, parts, and no message", async () => {
  const model = loadScriptedModel({ replies: [["One."], ["Two."], asked, ["Sunny."]] });
  const conversation = model.createConversation();
  assert.equal((await conversation.respond(["See", { type: "text", text: " this" }])).text, "One.");
  conversation.append("And then?");
  assert.equal((await conversation.respond()).text, "Two.");
  assert.equal((await conversation.respond("Oslo?", { functions: [weather], maxRounds: 2 })).text, "Sunny.");
  assert.equal(conversation.functions.length, 1);
});

test("with a schema, an answer has a value", async () => {
  const conversation = loadScriptedModel({ replies: [["[1, ", "2]"], ["[1]"]] }).createConversation();
  assert.deepEqual((await conversation.respond("Numbers", { schema: list })).value, [1, 2]);
  assert.equal((await conversation.respond("Numbers", { jsonSchemaConstraint: list })).value, undefined);
});

test("a reply that was cut short has no value", async () => {
  const conversation = loadScriptedModel({ replies: [["[1, ", "2]"]] }).createConversation();
  await assert.rejects(
    conversation.respond("Numbers", { schema: list, maxTokens: 1 }),
    (error) => error instanceof SdkError && error.code === "invalid_argument" && /cut short/.test(error.message),
  );
});

test("a schema may be a string", async () => {
  const conversation = loadScriptedModel({ replies: [["[1, 2]"], ["[1]"]] }).createConversation();
  assert.deepEqual((await conversation.respond("Numbers", { schema: JSON.stringify(list) })).value, [1, 2]);
  await assert.rejects(conversation.respond("Numbers", { schema: "not a schema" }), { code: "invalid_option" });
});

test("a reply that ends in calls for the app has no value", async () => {
  const conversation = loadScriptedModel({ replies: [asked, asked] }).createConversation("", [definition]);
  const end = await conversation.respond("Numbers", { schema: list });
  assert.deepEqual([end.finishReason, "value" in end], ["tool_calls", false]);
  assert.deepEqual(await read(conversation.generateResponse("Numbers", { schema: list }).snapshots), []);
});

test("each round begins its snapshots anew, and text that is not JSON has none", async () => {
  const model = loadScriptedModel({ replies: [["[1, ", ...asked], ["Well: {", ...asked], ["[3, ", "4]"]] });
  const conversation = model.createConversation("", [weather]);
  assert.deepEqual(await read(conversation.generateResponse("Oslo?").snapshots), [[1], [3], [3, 4], [3, 4]]);
});

test("snapshots grow, and the last one is complete", async () => {
  const pieces = ['{"title": "So', 'up", "min', 'utes": 1', "2}"];
  const conversation = loadScriptedModel({ replies: [pieces] }).createConversation();
  assert.deepEqual(await read(conversation.generateResponse("A recipe", { schema: recipe }).snapshots), [
    { title: "So" },
    { title: "Soup" },
    { title: "Soup", minutes: 12 },
    { title: "Soup", minutes: 12 },
  ]);
});

test("snapshots are prefixes of the value at every cut", async () => {
  const value = { "a\\": ["\"", "é\u0001 \u{1f600}", { b: {}, c: [[], ["x,]}"]] }], d: "" };
  const text = JSON.stringify(value).replace("\u{1f600}", "\\ud83d\\ude00");
  const conversation = loadScriptedModel({ replies: [[...text]] }).createConversation();
  // Without a schema: a grammar has no halves of pairs.
  const snapshots = await read(conversation.generateResponse("Any").snapshots);
  const isPrefix = (part, whole) =>
    typeof part === "string"
      ? whole.startsWith(part)
      : Array.isArray(part)
        ? part.length <= whole.length && part.every((item, at) => isPrefix(item, whole[at]))
        : Object.keys(part).every((name, at) => name === Object.keys(whole)[at] && isPrefix(part[name], whole[name]));
  assert.ok(snapshots.length > 20);
  for (const snapshot of snapshots) assert.ok(isPrefix(snapshot, value), JSON.stringify(snapshot));
  assert.deepEqual(snapshots.at(-1), value);
});

test("functions must be an array", () => {
  assert.throws(() => loadScriptedModel({ replies: [] }).createConversation("", { weather }), TypeError);
});
