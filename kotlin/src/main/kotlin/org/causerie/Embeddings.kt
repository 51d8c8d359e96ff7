@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.runBlocking

/** What the companion of [EmbeddingModel] can do. */
public interface EmbeddingModelLoading {
    /**
     * Loads an embedding model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. Loading
     * runs on a separate thread.
     *
     * ```
     * val model = EmbeddingModel.load("all-MiniLM-L6-v2")
     * val (question) = model.embed(listOf("Who eats?"), EmbedOptions(textUse = TextUse.QUERY)).vectors
     * for (vector in model.embed(listOf("A man eats bread.", "The rocket flies.")).vectors) {
     *     println(cosineSimilarity(question, vector))
     * }
     * ```
     *
     * @throws SdkException.ModelNotFound if there is no model at the path
     * @throws SdkException.ModelLoad if its files cannot be used
     */
    public suspend fun load(path: String, options: EmbeddingModelOptions = EmbeddingModelOptions()): EmbeddingModel {
        Log.start()
        return loadEmbeddingModel(path, options)
    }
}

/** Loads an embedding model and blocks the thread. See [EmbeddingModelLoading.load]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun loadEmbeddingModelBlocking(
    path: String,
    options: EmbeddingModelOptions = EmbeddingModelOptions()
): EmbeddingModel = runBlocking { EmbeddingModel.load(path, options) }

/**
 * What an [EmbeddingModel] can do beside the calls of the engine. Each call computes on a separate thread, one at a time;
 * cancelling its coroutine does not end the computation.
 */
public interface EmbeddingModelMembers : EmbeddingModelInterface {
    /** The vectors of texts, with default options. */
    @Throws(SdkException::class, CancellationException::class)
    public suspend fun embed(texts: List<String>): TextEmbeddings = embed(texts, EmbedOptions())

    /** The vectors of the tokens of texts, with default options. */
    @Throws(SdkException::class, CancellationException::class)
    public suspend fun embedTokens(texts: List<String>): TokenEmbeddings = embedTokens(texts, EmbedOptions())

    /** Ranks documents with default options. */
    @Throws(SdkException::class, CancellationException::class)
    public suspend fun rerank(query: String, documents: List<String>): Ranking =
        rerank(query, documents, RerankOptions())
}

/** The vectors of texts; blocks the thread. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun EmbeddingModel.embedBlocking(texts: List<String>, options: EmbedOptions = EmbedOptions()): TextEmbeddings =
    runBlocking { embed(texts, options) }

/** The vectors of the tokens of texts; blocks the thread. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun EmbeddingModel.embedTokensBlocking(
    texts: List<String>,
    options: EmbedOptions = EmbedOptions()
): TokenEmbeddings = runBlocking { embedTokens(texts, options) }

/** Ranks documents by how well they fit a query; blocks the thread. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun EmbeddingModel.rerankBlocking(
    query: String,
    documents: List<String>,
    options: RerankOptions = RerankOptions()
): Ranking = runBlocking { rerank(query, documents, options) }
