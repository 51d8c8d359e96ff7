// Compiled, not run: the types as an app uses them.
import { cosineSimilarity, EmbeddingModel, ModelRunner, SdkError, type MessageResponse, type FunctionCall, type FunctionCallParser } from "causerie";

async function app(): Promise<void> {
  const model = await ModelRunner.load("causerie/demo", { contextSize: 2048 });
  const conversation = model.createConversation("Be brief.");
  const weather = { name: "weather", parameters: { type: "object" }, run: ({ city }: { city: string }) => `sunny in ${city}` };
  for await (const event of conversation.respondWithFunctions("Hello!", [weather], { temperature: 0, maxRounds: 2 })) {
    show(event);
  }
  const answer = await conversation.respond({ role: "user", content: ["What is this?", { type: "image", data: new Uint8Array() }] });
  const text: string = answer.text;
  class Weather {
    name = "weather";
    #sky = "sunny";
    run({ city }: { city: string }): string {
      return `${this.#sky} in ${city}`;
    }
  }
  await conversation.respond("Hello!", { functions: [new Weather()], functionCallParser: "JsonStyleFunctionCallParser", seed: 12n });
  await conversation.respond("Hello!", { functionCallParser: model.info.functionCallParser });
  const parsers: (FunctionCallParser | null)[] = ["default", "DefaultFunctionCallParser", null];
  // @ts-expect-error: parsers have names
  await conversation.respond("Hello!", { functionCallParser: "yaml" });
  console.log(parsers);
  // @ts-expect-error: options have names
  conversation.respond("Hello!", { temprature: 0 });
  // @ts-expect-error: models are loaded
  new ModelRunner();
  console.log(text);

  const running = model.createConversation("Be brief.", [
    weather,
    { name: "other" },
    { type: "function", function: { name: "third" }, run: () => 3 },
  ]);
  const typed = await running.respond<{ minutes: number }>(["A timer"], { schema: { type: "object" }, functions: [weather] });
  const minutes: number | undefined = typed.value?.minutes;
  // @ts-expect-error: a reply that was cancelled has no value
  console.log(typed.value.minutes);
  const whole = await running.generateResponse<{ minutes: number }>("A timer", { schema: "{}" }).complete();
  console.log(whole.value?.minutes);
  for await (const snapshot of running.generateResponse("A timer", { schema: { type: "object" } }).snapshots) console.log(snapshot);
  // @ts-expect-error: without a schema there is no value
  console.log((await running.respond("A timer")).value, minutes);

  const { answers } = await model.decide("The kettle boils.", [
    { type: "predicate", instructions: "Is the water hot?" },
    { type: "choice", instructions: "Which room?", choices: ["kitchen", { label: "hall", description: "the entry" }] },
  ]);
  for (const answer of answers) {
    if (answer.type === "predicate") console.log(answer.probability);
    if (answer.type === "choice") console.log(answer.choice, answer.isAnswered);
  }
  const embedder = await EmbeddingModel.load("model.gguf", { threads: 2 });
  const { vectors } = await embedder.embed(["tea", "coffee"], { textUse: "document" });
  console.log(cosineSimilarity(vectors[0], vectors[1]), (await embedder.rerank("tea", ["a"], { topN: 1 })).results[0].relevance);
}

function show(event: MessageResponse): void {
  switch (event.type) {
    case "chunk":
      return console.log(event.text);
    case "functionCalls":
      return console.log(event.calls.map((call: FunctionCall) => call.arguments));
    case "complete":
      return console.log(event.finishReason, event.stats.tokensPerSecond);
    default:
      return;
  }
}

app().catch((error: unknown) => {
  if (error instanceof SdkError && error.code === "model_not_found") console.error(error.message);
});
