// Functions that replies run: objects with state, and what the model reads of their results.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { loadScriptedModel } from "causerie";

const asked = [{ control: "<|tool_call_start|>" }, '[weather(city="Oslo")]', { control: "<|tool_call_end|>" }];
const scripted = () => loadScriptedModel({ replies: [asked, ["Done."]] });
const parameters = { type: "object", properties: { city: { type: "string" } } };

/** A function whose parts are members of its class. */
class Weather {
  #sky = "sunny";
  get name() { return "weather"; }
  get parameters() { return parameters; }
  run({ city }) { return `${this.#sky} in ${city}`; }
}

/** The result of the function that a reply runs. */
async function resultOf(response) {
  for await (const event of response) if (event.type === "functionResult") return event;
}

test("a function is run as a method of its object, however it is given", async () => {
  const entry = { type: "function", function: { name: "weather", parameters }, sky: "sunny", cache: new Map(), run({ city }) { return `${this.sky} in ${city}`; } };
  const handlers = { sky() { return "sunny"; }, weather({ city }) { return `${this.sky()} in ${city}`; } };
  for (const weather of [new Weather(), entry]) {
    const registered = scripted().createConversation();
    registered.registerFunction(weather);
    for (const response of [
      scripted().createConversation("", [weather]).generateResponse("Oslo?"),
      scripted().createConversation("", [weather]).fork().generateResponse("Oslo?"),
      scripted().createConversation().generateResponse("Oslo?", { functions: [weather] }),
      scripted().createConversation().respondWithFunctions("Oslo?", [weather]),
      registered.respondWithFunctions("Oslo?"),
    ]) {
      assert.equal((await resultOf(response)).text, "sunny in Oslo");
    }
  }
  const conversation = scripted().createConversation("", [{ name: "weather", parameters }, { name: "sky" }]);
  assert.equal((await resultOf(conversation.respondWithFunctions("Oslo?", handlers))).text, "sunny in Oslo");
});

/** What the model reads of a value that a function returns. */
const read = (value) => resultOf(scripted().createConversation("", [{ name: "weather", parameters, run: () => value }]).generateResponse("Oslo?"));

test("a result is text or JSON", async () => {
  const date = new Date(0);
  class Point { x = 1; #y = 2; get y() { return this.#y; } }
  for (const [value, text] of [
    ["sunny", "sunny"],
    [null, "null"],
    [undefined, "null"],
    [() => 1, "null"],
    [12345678901234567890123n, "12345678901234567890123"],
    [{ id: 12345678901234567890123n }, '{"id": 12345678901234567890123}'],
    [date, date.toISOString()],
    [{ date, url: new URL("http://localhost/") }, `{"date": "${date.toISOString()}", "url": "http://localhost/"}`],
    [new Point(), '{"x": 1}'],
    [{ a: undefined, b: () => 1, c: [undefined, -0, new Number(3)] }, '{"c": [null, 0, 3]}'],
    [{}, "{}"],
    [Object.create(null), "{}"],
    [new Array(2), "[null, null]"],
  ]) {
    const result = await read(value);
    assert.deepEqual([result.text, result.isError], [text, false]);
  }
});

test("a result may have a picture or sound", async () => {
  const image = { type: "image", data: readFileSync(join(process.env.CAUSERIE_ROOT, "tests/fixtures/pictures/circles.png")) };
  for (const [value, text, types] of [
    [image, "", ["image_url"]],
    [["Look:", image, { type: "text", text: " three" }], "Look: three", ["text", "image_url", "text"]],
  ]) {
    const conversation = scripted().createConversation("", [{ name: "weather", parameters, run: () => value }]);
    const result = await resultOf(conversation.generateResponse("Oslo?"));
    assert.deepEqual([result.text, result.isError], [text, false]);
    const { content } = conversation.history.find(({ role }) => role === "tool");
    assert.deepEqual(content.map(({ type }) => type), types);
  }
});

test("a result that JSON would lose is an error that the model reads", async () => {
  const cyclic = [];
  cyclic.push(cyclic);
  for (const [value, message] of [
    [new Map([["sky", "sunny"]]), "result must be text or JSON, found a Map"],
    [{ skies: new Set(["sunny"]) }, "result.skies must be text or JSON, found a Set"],
    [{ sky: Promise.resolve("sunny") }, "result.sky must be text or JSON, found a Promise"],
    [new RangeError("no sky"), "result must be text or JSON, found an Error"],
    [Buffer.from("abc"), "result must be text or JSON, found a Uint8Array"],
    [{ photo: { type: "image", data: Buffer.from("abc") } }, "result.photo.data must be text or JSON, found a Uint8Array"],
    [{ toJSON: () => new Float32Array(1) }, "result must be text or JSON, found a Float32Array"],
    [new ArrayBuffer(1), "result must be text or JSON, found an ArrayBuffer"],
    [{ degrees: [NaN] }, "result.degrees[0] must be finite, found NaN"],
    [cyclic, "result[0] must not contain itself"],
  ]) {
    const { text, isError, error } = await read(value);
    assert.deepEqual([JSON.parse(text), isError], [{ error: message }, true]);
    assert.deepEqual([error.code, error.message], ["serialization", message]);
  }
});

test("the model reads a reason, whatever a function throws", async () => {
  for (const [thrown, reason] of [
    [new RangeError("no sky"), "no sky"],
    [new RangeError(""), "RangeError"],
    ["no sky", "no sky"],
    [{ message: "no sky" }, "no sky"],
    [{ status: 500 }, "an object"],
    [Object.create(null), "an object"],
    [undefined, "undefined"],
    [new Error("a\ud800b"), "a\ufffdb"],
  ]) {
    const run = () => { throw thrown; };
    const result = await resultOf(scripted().createConversation("", [{ name: "weather", parameters, run }]).generateResponse("Oslo?"));
    assert.deepEqual(JSON.parse(result.text), { error: reason });
    assert.equal(result.error, thrown);
  }
});
