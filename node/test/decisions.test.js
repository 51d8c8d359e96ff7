import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { cosineSimilarity, EmbeddingModel, ModelRunner, SdkError } from "causerie";

const root = process.env.CAUSERIE_ROOT;
const golden = JSON.parse(readFileSync(join(root, "tests/golden/embeddings.json"))).tokens;
const tolerance = 1e-4; // as in the core's test: F32 sums in another order, and F16 weights in the files
const near = (found, expected) => assert.ok(Math.abs(found - expected) <= tolerance, `${found} must be near ${expected}`);
const state = "The kettle boils, and steam fills the kitchen. Anna is in the garden.";
const questions = [
  { type: "predicate", instructions: "Is the water hot?", yes: "steam rises", name: "hot" },
  { type: "choice", instructions: "Where is Anna?", choices: [{ label: "kitchen", description: "where one cooks" }, "garden", "hall"] },
  { type: "score", instructions: "How warm is it?", levels: ["cold", "mild", "hot"] },
];

test("answers come in order with probabilities that add up to 1", async () => {
  const model = await ModelRunner.load("causerie/demo");
  const { answers, usage } = await model.decide(state, questions, { minLabelProbability: 0 });
  assert.deepEqual(answers.map(({ type, name, isAnswered }) => [type, name, isAnswered]), [
    ["predicate", "hot", true],
    ["choice", null, true],
    ["score", null, true],
  ]);
  assert.ok(usage.inputTokens > 0 && answers[0].probability > 0 && answers[0].probability < 1);
  const [, choice, score] = answers;
  assert.deepEqual(choice.probabilities.map(({ label }) => label), ["kitchen", "garden", "hall"]);
  for (const { probabilities } of [choice, score]) near(probabilities.reduce((sum, { probability }) => sum + probability, 0), 1);
  near(score.score, score.probabilities.reduce((sum, { probability }, level) => sum + level * probability, 0));
  assert.equal(choice.probabilities[choice.index].label, choice.choice);
  assert.ok((await model.decide(state, questions)).answers.every(({ isAnswered }) => !isAnswered), "the demo model does not decide");
  assert.deepEqual((await model.decide([{ role: "user", content: state }], questions, { minLabelProbability: 0 })).answers, answers);
});

test("wrong questions are named", async () => {
  const model = await ModelRunner.load("causerie/demo");
  for (const [wrong, code, message] of [
    [[], "invalid_argument", /questions must have 1 to 400 entries, found 0/],
    [[{ type: "riddle", instructions: "?" }], "invalid_argument", /questions\[0\]/],
    [[{ type: "score", instructions: "?", levels: ["cold"] }], "invalid_argument", /levels must have 2 to 100 entries, found 1/],
  ]) {
    await assert.rejects(model.decide(state, wrong), (error) => error instanceof SdkError && error.code === code && message.test(error.message));
  }
  await assert.rejects(model.decide(state, questions, { rotations: 0 }), { code: "invalid_option" });
});

test("unknown options are refused with a near name", async () => {
  const model = await ModelRunner.load("causerie/demo");
  const bert = join(root, "tests/fixtures/models/bert");
  const embedder = await EmbeddingModel.load(bert);
  for (const [wrong, message] of [
    [() => model.decide(state, questions, { rotation: 1 }), /no option rotation; did you mean rotations\?/],
    [() => embedder.embed(["tea"], { dimension: 8 }), /no option dimension; did you mean dimensions\?/],
    [() => embedder.rerank("tea", ["a"], { topM: 1 }), /no option topM; did you mean topN\?/],
    [() => EmbeddingModel.load(bert, { thread: 1 }), /no option thread; did you mean threads\?/],
  ]) {
    await assert.rejects(wrong(), (error) => error.code === "invalid_option" && message.test(error.message));
  }
});

test("vectors and relevances agree with the reference", async () => {
  const model = await EmbeddingModel.load(join(root, "tests/fixtures/models/bert"), { threads: 1 });
  assert.deepEqual([model.info.architecture, model.info.dimensions, model.info.embeds, model.info.ranks], ["bert", 32, true, false]);
  const cases = golden.single.slice(0, 2);
  const { vectors, tokenCount, truncated } = await model.embed(cases.map(({ text }) => text));
  vectors.forEach((vector, at) => vector.forEach((value, of) => near(value, golden.unit_means[at][of])));
  assert.equal(vectors[0].length, 32);
  assert.deepEqual([tokenCount, truncated], [cases.reduce((sum, { ids }) => sum + ids.length, 0), []]);
  const [short] = (await model.embed([cases[0].text], { dimensions: 8, textUse: "query" })).vectors;
  assert.equal(short.length, 8);
  near(Math.hypot(...short), 1);
  await assert.rejects(model.rerank("who eats", ["bread"]), { code: "unsupported_content" });
  await assert.rejects(model.embed([3]), { code: "invalid_argument" });

  const ranker = await EmbeddingModel.load(join(root, "tests/fixtures/models/bert-rank-f16.gguf"));
  for (const { first, second, relevance, ids } of golden.pairs) {
    const found = await ranker.rerank(first, [second]);
    near(found.results[0].relevance, relevance);
    assert.equal(found.tokenCount, ids.length);
  }
  assert.equal((await ranker.rerank("who eats", ["a", "b", "c"], { topN: 2 })).results.length, 2);
  await assert.rejects(EmbeddingModel.load("no/such/model"), { code: "model_not_found" });
});

test("similarity is a cosine", () => {
  assert.ok(Math.abs(cosineSimilarity([3, 0], [4, 4]) - Math.SQRT1_2) < 1e-12);
  assert.equal(cosineSimilarity([0, 0], [1, 2]), 0);
  assert.throws(() => cosineSimilarity([1], [1, 2]), RangeError);
});
