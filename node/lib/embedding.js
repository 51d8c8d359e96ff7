// Embedding models: texts as vectors, and documents in the order in which they fit a query.

import { check, optionsOf } from "./arguments.js";
import { awaited, native } from "./native.js";
import { answer, pathOf, requestJson } from "./values.js";

/** The native part of a model. */
export let nativeEmbeddingModel;

/** A model in memory that embeds texts, or ranks documents. It computes one call at a time. */
export class EmbeddingModel {
  #native;

  /** Use `EmbeddingModel.load`. */
  constructor(loaded) {
    if (!(loaded instanceof native.NativeEmbeddingModel)) throw new TypeError("use EmbeddingModel.load to load a model");
    this.#native = loaded;
  }

  /** Loads a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. */
  static async load(model, options) {
    return new EmbeddingModel(await awaited(native.loadEmbeddingModel(pathOf(model), requestJson(optionsOf(options)))));
  }

  static {
    nativeEmbeddingModel = (model) => {
      if (!(model instanceof EmbeddingModel)) throw new TypeError("the model must be an EmbeddingModel");
      return model.#native;
    };
  }

  get info() {
    return answer(this.#native.info());
  }

  /** The vectors of texts, in their order. */
  async embed(texts, options) {
    const { values, dimensions, json } = await awaited(this.#native.embed(requestJson({ ...optionsOf(options), texts })));
    const vectors = texts.map((_, at) => values.subarray(at * dimensions, (at + 1) * dimensions));
    return { vectors, ...answer(json) };
  }

  /** The documents that fit a query best, the best first. */
  async rerank(query, documents, options) {
    return answer(await awaited(this.#native.rerank(requestJson({ ...optionsOf(options), query, documents }))));
  }
}

/** The cosine of the angle between two vectors, from -1 to 1. */
export function cosineSimilarity(one, other) {
  for (const [name, vector] of Object.entries({ one, other })) {
    check(name, typeof vector === "object" && typeof vector?.length === "number", "an array of numbers", vector);
  }
  if (one.length !== other.length) throw new RangeError(`vectors must have the same size, found ${one.length} and ${other.length}`);
  let [product, ofOne, ofOther] = [0, 0, 0];
  for (let at = 0; at < one.length; at++) {
    product += one[at] * other[at];
    ofOne += one[at] ** 2;
    ofOther += other[at] ** 2;
  }
  return product === 0 ? 0 : product / Math.sqrt(ofOne * ofOther);
}
