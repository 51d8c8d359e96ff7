// The official client of OpenAI for Node, and the Vercel AI SDK.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI, { toFile } from "openai";
import { MODEL, TOOLS, serve } from "./server.js";

const ASK = "Set a timer for 12 minutes for the pasta";
const ARGUMENTS = { duration: 12, unit: "minutes", label: "pasta" };
let server;
before(async () => (server = await serve()));
after(() => server.stop());

const openai = () => new OpenAI({ baseURL: server.baseURL, apiKey: "placeholder", maxRetries: 0 });
const vercel = () => createOpenAICompatible({ name: "causerie", baseURL: server.baseURL, includeUsage: true })(MODEL);

test("openai: a stream gives the text of the whole reply", async () => {
  const fields = { model: MODEL, messages: [{ role: "user", content: "Hello!" }], temperature: 0, max_tokens: 60 };
  const whole = await openai().chat.completions.create(fields);
  let text = "";
  for await (const chunk of await openai().chat.completions.create({ ...fields, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  assert.equal(text, whole.choices[0].message.content);
});

test("openai: a function is called, and run by the client", async () => {
  const called = [];
  const tools = TOOLS.map(({ function: described }) => ({
    type: "function",
    function: {
      ...described,
      parse: JSON.parse,
      function: (given) => {
        called.push([described.name, given]);
        return '{"timer": "pasta", "duration": "12 minutes"}';
      },
    },
  }));
  const messages = [{ role: "user", content: ASK }];
  const runner = openai().chat.completions.runTools({ model: MODEL, messages, tools, temperature: 0, stream: true });
  assert.match(await runner.finalContent(), /pasta/);
  assert.deepEqual(called, [["set_timer", ARGUMENTS]]);
});

test("openai: responses stream, and errors are the client's own", async () => {
  const stream = openai().responses.stream({ model: MODEL, input: "Hello!", temperature: 0, max_output_tokens: 60 });
  const final = await stream.finalResponse();
  assert.ok(final.output_text);
  assert.equal((await openai().responses.retrieve(final.id)).output_text, final.output_text);
  const items = await openai().responses.inputItems.list(final.id);
  assert.deepEqual(items.data.map(({ content }) => content[0].text), ["Hello!"]);
  await openai().responses.delete(final.id);
  await assert.rejects(openai().responses.retrieve(final.id), OpenAI.NotFoundError);
});

test("openai: a client may disconnect during a stream", async () => {
  const messages = [{ role: "user", content: "Hello!" }];
  const stream = await openai().chat.completions.create({ model: MODEL, messages, stream: true, ignore_eos: true });
  for await (const chunk of stream) if (chunk) break;
  assert.ok((await openai().models.list()).data.length);
});

test("vercel: a tool is called, run and answered, in streamed steps", async () => {
  const called = [];
  const tools = Object.fromEntries(TOOLS.map(({ function: described }) => [described.name, tool({
    description: described.description,
    inputSchema: jsonSchema(described.parameters),
    execute: async (given) => {
      called.push([described.name, given]);
      return { timer: "pasta", duration: "12 minutes" };
    },
  })]));
  const result = streamText({ model: vercel(), prompt: ASK, tools, temperature: 0, stopWhen: stepCountIs(2) });
  assert.match(await result.text, /pasta/);
  assert.deepEqual(called, [["set_timer", ARGUMENTS]]);
  assert.ok((await result.totalUsage).outputTokens > 0);
});

test("vercel: whole text, and an error with its message", async () => {
  const { text } = await generateText({ model: vercel(), prompt: "Hello!", temperature: 0, maxOutputTokens: 60 });
  assert.ok(text);
  const other = createOpenAICompatible({ name: "causerie", baseURL: server.baseURL })("other");
  assert.equal((await generateText({ model: other, prompt: "Hi", maxOutputTokens: 4 })).response.modelId, MODEL);
  const wrong = createOpenAICompatible({ name: "causerie", baseURL: server.baseURL.replace("/v1", "") })("other");
  await assert.rejects(generateText({ model: wrong, prompt: "Hi", maxRetries: 0 }), /must end with \/v1/);
});

// A WAV file of two seconds, of which the model writes something.
function tone() {
  const file = Buffer.alloc(44 + 64000);
  file.write("RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0", "latin1");
  [16000, 32000].forEach((value, at) => file.writeUInt32LE(value, 24 + 4 * at));
  [2, 16].forEach((value, at) => file.writeUInt16LE(value, 32 + 2 * at));
  file.write("data\xff\xff\xff\xff", 36, "latin1");
  for (let at = 0; at < 32000; at++) file.writeInt16LE(Math.round(16000 * Math.sin(0.17 * at)), 44 + 2 * at);
  return toFile(file, "tone.wav");
}

test("openai: a file is transcribed, whole and as a stream", async () => {
  const hearing = await serve("--transcriber", process.env.CAUSERIE_ROOT + "/tests/fixtures/models/whisper");
  try {
    const client = new OpenAI({ baseURL: hearing.baseURL, apiKey: "placeholder", maxRetries: 0 });
    const ask = async (fields) =>
      client.audio.transcriptions.create({ model: "whisper", file: await tone(), ...fields });
    const { text } = await ask({});
    assert.notEqual(text, "");
    assert.equal(await ask({ response_format: "text" }), text + "\n");
    const events = [];
    for await (const event of await ask({ stream: true })) events.push(event);
    assert.equal(events.at(-1).text, text);
    await assert.rejects(ask({ response_format: "diarized_json" }), { status: 400, param: "response_format" });
  } finally {
    await hearing.stop();
  }
});
