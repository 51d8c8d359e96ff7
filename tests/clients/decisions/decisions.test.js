// Decisions by OpenAI's client and by the AI SDK. The model knows nothing of decisions: what is compared is the form of its answers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAI } from "@ai-sdk/openai";
import { experimental_decide as decide } from "ai";
import OpenAI from "openai";
import { MODEL, serve } from "./server.js";

let server;
let client;
before(async () => {
  server = await serve("--model", process.env.CAUSERIE_DECISION_MODEL, "--model-id", MODEL);
  client = new OpenAI({ baseURL: server.baseURL, apiKey: "placeholder", maxRetries: 0 });
});
after(() => server.stop());

const state = "The kettle boils, and Anna is in the garden.";
const rooms = ["kitchen", "garden", "hall"];
const levels = ["cold", "mild", "hot"];

test("OpenAI's client", async () => {
  const questions = [
    { type: "predicate", instructions: "Is the water hot?" },
    { type: "choice", instructions: "Where is Anna?", choices: rooms.map((value) => ({ value })) },
  ];
  const { answers, usage } = await client.decisions.create({ model: MODEL, input: state, questions });
  assert.deepEqual(answers.map(({ type, name }) => [type, name]), [["predicate", null], ["choice", null]]);
  assert.ok(0 <= answers[0].probability && answers[0].probability <= 1 && 0 < usage.input_tokens);
  await assert.rejects(client.decisions.create({ model: MODEL, input: null, questions }), OpenAI.BadRequestError);
});

test("the AI SDK", async () => {
  const model = createOpenAI({ baseURL: server.baseURL, apiKey: "placeholder" }).decisionModel(MODEL);
  const questions = {
    hot: { type: "boolean", instructions: "Is the water hot?", criteria: { true: "steam rises" } },
    room: { type: "choice", instructions: "Where is Anna?", criteria: Object.fromEntries(rooms.map((room) => [room, null])) },
    warmth: { type: "score", instructions: "How warm is it?", criteria: levels },
  };
  const { answers } = await decide({ model, state, questions });
  assert.deepEqual(Object.keys(answers), ["hot", "room", "warmth"]);
  assert.ok(rooms.includes(answers.room.choice));
  const json = await decide({ model, state: { kettle: "boils" }, questions: { hot: questions.hot } });
  assert.deepEqual(Object.keys(json.answers), ["hot"]);
});
