package org.causerie

import kotlin.math.sqrt
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance

/** Embeddings and reranking, on a small BERT with random weights, against values of other implementations. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class EmbeddingTest {
    private val models = repository.resolve("tests/fixtures/models")
    private val model = loadEmbeddingModelBlocking(models.resolve("bert").path)
    private val ranker = loadEmbeddingModelBlocking(models.resolve("bert-rank-f16.gguf").path)

    @Suppress("UNCHECKED_CAST")
    private val golden = decodeJsonObject(repository.resolve("tests/golden/embeddings.json").readText())["tokens"]
        as Map<String, List<Any>>

    private fun cases(name: String) = golden.getValue(name).map { it as Map<*, *> }

    private val texts = cases("single").take(2).map { it["text"] as String }

    // As in the core's test: F32 sums in another order, and F16 weights in the file.
    private val tolerance = 1e-4

    @AfterAll
    fun close() {
        model.close()
        ranker.close()
    }

    @Test
    fun `vectors agree with the reference`() = runBlocking {
        val found = model.embed(texts)
        val expected = golden.getValue("unit_means").map { vector -> (vector as List<*>).map { it as Double } }
        assertEquals(expected.map { it.size }, found.vectors.map { it.size })
        for ((a, b) in expected.flatten().zip(found.vectors.flatten())) assertEquals(a, b.toDouble(), tolerance)
        assertEquals(cases("single").take(2).sumOf { (it["ids"] as List<*>).size }, found.tokenCount)
        assertEquals(found, model.embedBlocking(texts))
    }

    @Test
    fun `relevances agree with the reference`() = runBlocking {
        for (case in cases("pairs")) {
            val found = ranker.rerank(case["first"] as String, listOf(case["second"] as String))
            assertEquals(case["relevance"] as Double, found.results.single().relevance.toDouble(), tolerance)
            assertEquals((case["ids"] as List<*>).size, found.tokenCount)
        }
    }

    @Test
    fun `documents are ranked`() {
        val documents = listOf("the rocket", "a man eats bread", "reading", "bread")
        val results = ranker.rerankBlocking("who eats", documents).results
        val alone = documents.map { ranker.rerankBlocking("who eats", listOf(it)).results.single().relevance }
        assertEquals(alone.indices.sortedByDescending { alone[it] }, results.map { it.index })
        assertEquals(results.take(2), ranker.rerankBlocking("who eats", documents, RerankOptions(topN = 2)).results)
    }

    @Test
    fun `options count`() {
        val query = model.embedBlocking(texts, EmbedOptions(textUse = TextUse.QUERY))
        assertEquals(query, model.embedBlocking(texts, EmbedOptions(prompt = "query: ")))
        assertNotEquals(query, model.embedBlocking(texts))
        val short = model.embedBlocking(texts, EmbedOptions(dimensions = 8)).vectors.first()
        assertEquals(8, short.size)
        assertEquals(1.0, sqrt(short.sumOf { it.toDouble() * it }), 1e-6)
        val long = listOf("bread ".repeat(500))
        assertEquals(listOf(0), model.embedBlocking(long).truncated)
        assertThrows(SdkException.PromptExceedsContext::class.java) {
            model.embedBlocking(long, EmbedOptions(truncates = false))
        }
        assertEquals(0.5f, cosineSimilarity(listOf(1f, 1f, 0f), listOf(0f, 2f, 2f)), 1e-6f)
    }

    @Test
    fun `faults have their kind`() {
        assertTrue(model.info.embeds && !model.info.ranks && ranker.info.ranks && "query" in model.info.prompts)
        assertThrows(SdkException.UnsupportedContent::class.java) { model.rerankBlocking("who eats", texts) }
        assertThrows(SdkException.UnsupportedContent::class.java) { model.embedTokensBlocking(texts) }
        assertThrows(SdkException.InvalidOption::class.java) { EmbedOptions(dimensions = -1) }
        assertThrows(SdkException.InvalidOption::class.java) {
            model.embedBlocking(texts, EmbedOptions(dimensions = 33))
        }
        assertThrows(SdkException.InvalidArgument::class.java) { cosineSimilarity(listOf(1f), listOf(1f, 2f)) }
        assertThrows(SdkException.ModelNotFound::class.java) { loadEmbeddingModelBlocking("no/such/model") }
    }
}
