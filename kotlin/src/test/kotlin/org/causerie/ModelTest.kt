package org.causerie

import java.io.File
import java.util.concurrent.CancellationException
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

/** Loading, unloading, and the demo model. */
class ModelTest {
    @Test
    fun `progress increases to 1`() = runBlocking {
        val fractions = mutableListOf<Float>()
        ModelRunner.load(demo) { fractions += it }.use { runner ->
            assertEquals(fractions.sorted(), fractions)
            assertEquals(1f, fractions.last())
            assertTrue(
                runner.supportsFunctionCalling && runner.info.contextSize == runner.contextSize,
                "${runner.info}"
            )
            assertTrue(0 < runner.info.parameters)
        }
    }

    @Test
    fun `information about a model is read without loading it`() = runBlocking {
        val info = readModelInfo(demo)
        ModelRunner.load(demo).use { runner -> assertEquals(runner.info, info) }
        assertTrue(readModelInfo(demo, 64).memoryEstimate < info.memoryEstimate && info.problems.isEmpty())
        assertThrows(SdkException.ModelNotFound::class.java) { readModelInfo("no/such.gguf") }
        Unit
    }

    @Test
    fun `a bundle is loaded like the file in it`() = runBlocking {
        val fixtures = repository.resolve("tests/fixtures")
        val bundle = fixtures.resolve("bundles/lfm2.bundle").path
        val info = readModelInfo(fixtures.resolve("models/lfm2-q4_0.gguf").path)
        assertEquals(info, readModelInfo(bundle))
        ModelRunner.load(bundle).use { runner -> assertEquals(info, runner.info) }
    }

    @Test
    fun `every cache type can be chosen`() = runBlocking {
        for (cacheType in CacheType.entries) {
            ModelRunner.load(demo, loadOptions { this.cacheType = cacheType }).use { runner ->
                val options = generationOptions { maxTokens = 1 }
                val reply = runner.createConversation("").generateResponse("Hello", options).read()
                assertEquals(1, reply.complete().stats.completionTokens)
            }
        }
    }

    @Test
    fun `a GPU that does not exist is refused or replaced by the CPU`() = runBlocking {
        fun on(chosen: Device) = loadOptions {
            device = chosen
            gpuName = "no such GPU"
            gpuBytes = 1L shl 40
        }
        val err = assertThrows(SdkException.InvalidOption::class.java) {
            runBlocking { ModelRunner.load(demo, on(Device.GPU)) }
        }
        assertEquals("device", err.option)
        ModelRunner.load(demo, on(Device.AUTO)).use { runner ->
            // Builds without GPUs have nothing to note: they always take the CPU.
            assertEquals("this build does not have" in err.message.orEmpty(), runner.deviceNote == null)
            assertEquals(null to emptyList<String>(), runner.info.gpu to runner.info.gpuDifferences)
        }
    }

    @Test
    fun `packed weights are written once and give the same reply`(@TempDir folder: File) = runBlocking {
        suspend fun reply(options: LoadOptions): String = ModelRunner.load(demo, options).use { runner ->
            val short = generationOptions {
                maxTokens = 4
                temperature = 0f
            }
            runner.createConversation("").generateResponse("Hello", short).read().text()
        }
        val plain = reply(loadOptions {})
        for (memory in WeightMemory.entries) {
            val options = loadOptions {
                packedFolder = File(folder, memory.name).path
                weightMemory = memory
            }
            assertEquals(plain, reply(options))
            assertEquals(plain, reply(options))
            assertEquals(1, File(folder, memory.name).listFiles { file -> file.extension == "packed" }?.size)
        }
    }

    @Test
    fun `phases are reported as they begin`(@TempDir folder: File) = runBlocking {
        suspend fun phases(memory: WeightMemory?): List<LoadPhase> {
            val reported = mutableListOf<LoadPhase>()
            val options = loadOptions {
                packedFolder = memory?.let { folder.path }
                weightMemory = memory
            }
            ModelRunner.load(demo, options, onPhase = { reported += it }).close()
            return reported
        }
        assertEquals(listOf(LoadPhase.READING, LoadPhase.READY), phases(null))
        assertEquals(listOf(LoadPhase.PACKING, LoadPhase.MAPPING, LoadPhase.READY), phases(WeightMemory.MAPPED))
        assertEquals(listOf(LoadPhase.MAPPING, LoadPhase.READY), phases(WeightMemory.MAPPED))
        assertEquals(listOf(LoadPhase.READING, LoadPhase.READY), phases(WeightMemory.COPIED))
    }

    @Test
    fun `a listener that throws ends loading and crashes nothing`() {
        val err = assertThrows(IllegalStateException::class.java) {
            runBlocking { ModelRunner.load(demo) { error("no paper") } }
        }
        assertEquals("no paper", err.message)
        val busy = assertThrows(SdkException.Busy::class.java) {
            loadModelBlocking(
                demo,
                progress = object : LoadProgress {
                    override fun proceed(fraction: Float, phase: LoadPhase): Boolean = throw SdkException.Busy("later")
                }
            )
        }
        assertEquals("later", busy.message)
    }

    @Test
    fun `loading is cancelled by its listener or its coroutine`() {
        assertThrows(SdkException.LoadCancelled::class.java) {
            loadModelBlocking(
                demo,
                progress = object : LoadProgress {
                    override fun proceed(fraction: Float, phase: LoadPhase): Boolean = false
                }
            )
        }
        assertThrows(CancellationException::class.java) {
            runBlocking {
                val loading = Job()
                async(Dispatchers.Default + loading) { ModelRunner.load(demo) { loading.cancel() } }.await()
            }
        }
    }

    @Test
    fun `models that cannot be loaded are errors of different kinds`() {
        val err = assertThrows(SdkException.ModelNotFound::class.java) { loadModelBlocking("no/such.gguf") }
        assertTrue("no/such.gguf" in err.message, err.message)
        val cut = File.createTempFile("causerie", ".gguf").apply { writeBytes(File(demo).readBytes().copyOf(100_000)) }
        assertThrows(SdkException.ModelLoad::class.java) { loadModelBlocking(cut.path) }
        cut.writeText("GGUF")
        assertThrows(SdkException.ModelLoad::class.java) { loadModelBlocking(cut.path) }
        cut.delete()
        assertThrows(SdkException.Serialization::class.java) { loadScriptedModel("{}") }
    }

    @Test
    fun `an unloaded model leaves its conversations readable`() = runBlocking {
        val runner = scripted(listOf("a"), listOf("b"))
        val conversation = runner.createConversation("")
        conversation.generateResponse("Hi").toList()
        runner.unload()
        runner.unload()
        assertEquals(2, conversation.history.size)
        assertThrows(SdkException.ModelUnloaded::class.java) { conversation.generateResponse("Hi").read() }
        runner.close()
    }

    @Test
    fun `the demo model replies the same with the same seed`() {
        loadModelBlocking(demo).use { runner ->
            val replies = List(2) {
                val options = generationOptions {
                    temperature = 0.8f
                    rngSeed = 7
                    maxTokens = 12
                }
                runner.createConversation("You are causerie.").generateResponse(user("Hello!"), options).read()
            }
            assertEquals(replies[0].text(), replies[1].text())
            assertTrue(replies[0].complete().stats.completionTokens in 1..12)
            assertEquals(runner.tokenize("Hello!"), runner.tokenize("Hello!"))
            val text = runner.renderPrompt(listOf(user("Hello!")), true)
            assertTrue("Hello!" in text, text)
        }
    }

    @Test
    fun `omitted arguments have the same defaults as in the other languages`() = runBlocking {
        loadModelBlocking(demo).use { runner ->
            val messages = listOf(user("Hello!"))
            assertEquals(runner.renderPrompt(messages, true), runner.renderPrompt(messages))
            val tokens = runner.promptTokens(messages)
            assertEquals(runner.promptTokens(messages, true), tokens)
            for (stream in listOf(runner.complete("Hello"), runner.completeTokens(tokens))) {
                stream.use { assertTrue(it.next() is MessageResponse.Chunk) }
            }

            val conversation = runner.createConversationFromHistory(messages)
            assertEquals(conversation.planContext(GenerationOptions()), conversation.planContext())
            val file = File.createTempFile("causerie", ".session")
            conversation.saveSession(file.path)
            assertEquals(messages, runner.restoreSession(file.path).history)
            assertTrue(file.delete())
        }
    }
}
