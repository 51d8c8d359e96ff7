// Replies that speak, from the official client: with a tiny random model, whose words and sound mean nothing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { MODEL, serve } from "./server.js";

let server;
let client;
before(async () => {
  const model = `${process.env.CAUSERIE_ROOT}/tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf`;
  server = await serve("--model", model, "--model-id", MODEL);
  client = new OpenAI({ baseURL: server.baseURL, apiKey: "placeholder", maxRetries: 0 });
});
after(() => server.stop());

const question = { role: "user", content: "Who are you?" };
const ask = (fields, ...more) =>
  client.chat.completions.create({
    model: MODEL, messages: [question, ...more], modalities: ["text", "audio"], temperature: 0, seed: 7, max_tokens: 40, ...fields,
  });

test("the deltas of a stream join to the whole reply", async () => {
  const whole = await ask({ audio: { voice: "alloy", format: "pcm16" } });
  const { audio, content } = whole.choices[0].message;
  assert.equal(content, null);
  assert.ok(20_000 < Buffer.from(audio.data, "base64").length && audio.transcript);
  let [data, transcript, id] = ["", "", ""];
  for await (const { choices } of await ask({ stream: true, audio: { voice: "alloy", format: "pcm16" } })) {
    const piece = choices[0]?.delta.audio ?? {};
    data += piece.data ?? "";
    transcript += piece.transcript ?? "";
    id += piece.id ?? "";
  }
  assert.deepEqual([data, transcript], [audio.data, audio.transcript]);
  assert.match(id, /^audio_[0-9a-f]{16}$/);
  const next = await ask({ audio: { voice: "alloy", format: "wav" } }, { role: "assistant", audio: { id } }, { role: "user", content: "Why?" });
  assert.equal(next.usage.prompt_tokens_details.audio_tokens, whole.usage.completion_tokens_details.audio_tokens);
});
