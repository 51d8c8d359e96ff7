package org.causerie

import java.io.File
import java.net.URL
import java.nio.file.Files
import java.util.Collections
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestFactory

/** Downloads, from a fake hub on loopback. `tests/fixtures/downloads/README.md` describes the scenarios. */
class DownloadTest {
    private val scenarioFile = repository.resolve("tests/fixtures/downloads/scenarios.json")

    @TestFactory
    fun scenarios(): List<DynamicTest> {
        @Suppress("UNCHECKED_CAST")
        val scenarios = json(scenarioFile.readText()) as List<Map<String, Any?>>
        return scenarios.map { scenario ->
            DynamicTest.dynamicTest(scenario["name"] as String) {
                @Suppress("UNCHECKED_CAST")
                DownloadPlayer().use { player -> (scenario["steps"] as List<Map<String, Any?>>).forEach(player::play) }
            }
        }
    }

    @Test
    fun `a collector that leaves ends its download`() = runBlocking {
        DownloadPlayer().use { player ->
            player.fake.tell("""{"fault": {"matches": "store GET", "times": 1, "stall": 100000}}""")
            val hub = player.hub
            hub.pull("ns/demo:Q4_0").first { it is PullEvent.Progress && it.progress.done == 100_000L }
            player.fake.tell("""{"fault": {"matches": "store GET", "times": 1, "stall": 20000}}""")
            val collecting = launch { hub.pull("ns/demo:Q4_0").collect {} }
            hub.pull("ns/demo:Q4_0").first { it is PullEvent.Progress && it.progress.resumedFrom == 100_000L }
            collecting.cancelAndJoin()
            val last = hub.pull("ns/demo:Q4_0").last()
            assertTrue((last as PullEvent.Ready).path.endsWith("demo-Q4_0.gguf"), "$last")
        }
    }

    @Test
    fun `a server that cannot be reached is an error`() {
        val folder = Files.createTempDirectory("causerie").toFile()
        val options = HubOptions(folder.path, "http://127.0.0.1:1", isOffline = false, retryPauseMilliseconds = 1)
        val err = assertThrows(SdkException.Download::class.java) {
            Hub.open(options).use { it.pullBlocking("ns/demo") }
        }
        assertEquals("network" to true, err.fault to err.isRetryable)
        folder.deleteRecursively()
    }

    @Test
    fun `a model is loaded by its name`() = runBlocking {
        DownloadPlayer().use { player ->
            val seen = Collections.synchronizedList(mutableListOf<ModelLoadProgress>())
            ModelRunner.load("ns/tiny:Q4_0", player.hub) { seen += it }.close()
            val loading = seen.indexOfFirst { it.phase == ModelLoadProgress.Phase.LOADING }
            assertTrue(0 < loading, "$seen")
            assertEquals(1, seen.drop(loading).map { it.phase }.toSet().size)
            assertEquals(seen[loading - 1].download?.total, seen[loading - 1].download?.done)
            assertTrue(seen.all { it.fraction in 0.0..1.0 })
            assertEquals("loading, 100 %", seen.last().toString())
            // The second time, no request is sent.
            player.fake.tell("")
            ModelRunner.load("ns/tiny:Q4_0", player.hub).close()
            assertEquals(listOf<String>(), player.fake.tell(""))
        }
    }

    @Test
    fun `plans come from a lock file`() = runBlocking {
        DownloadPlayer().use { player ->
            val plan = player.hub.plan("ns/demo:Q4_0")
            val lock = """{"format": "causerie/lock", "format_version": 1, "models": [${plan.toJson()}]}"""
            val read = plansFromLock(lock).single()
            assertEquals("ns/demo:Q4_0" to "apache-2.0", read.name() to read.license())
            assertTrue(player.hub.fetch(read).toList().last() is PullEvent.Ready)
        }
    }

    @Test
    fun `options refuse negative numbers`() {
        assertThrows(SdkException.InvalidOption::class.java) { HubOptions(retryPauseMilliseconds = -1) }
    }
}

/** The fake hub, as a program. */
internal class FakeHub : AutoCloseable {
    private val process =
        ProcessBuilder(File(System.getProperty("causerie.library.directory"), "examples/fake_hub").path).start()
    private val output = process.inputStream.bufferedReader()
    val url: String = output.readLine()

    /** The answer to a step; to an empty line, the requests since the last one. */
    fun tell(line: String = ""): List<String> {
        process.outputStream.write("$line\n".toByteArray())
        process.outputStream.flush()
        return generateSequence { output.readLine() }.takeWhile { it.isNotEmpty() }.toList()
    }

    override fun close() {
        process.outputStream.close()
        process.waitFor()
    }
}

/** Plays the steps of a scenario. */
internal class DownloadPlayer : AutoCloseable {
    val fake = FakeHub()
    private val folder: File = Files.createTempDirectory("causerie").toFile()
    val hub: Hub = Hub.open(
        HubOptions(folder.resolve("hub").path, fake.url, isOffline = false, retryPauseMilliseconds = 1)
    )
    private var restarts = false

    override fun close() {
        hub.close()
        fake.close()
        folder.deleteRecursively()
    }

    fun play(step: Map<String, Any?>) {
        when (step.keys.first()) {
            "remove" -> assertTrue(step["freed"] as Long <= hub.remove(step["remove"] as String))
            "models" -> assertEquals(step["models"], hub.models().map { it.name })
            "requests" -> assertEquals(step["requests"], fake.tell().size.toLong())
            "restart" -> restarts = true
            "fault", "heal" -> fake.tell(encodeJsonObject(step))
            else -> check(step)
        }
    }

    private fun check(step: Map<String, Any?>) = try {
        val path = runBlocking { path(step) }
        assertTrue("error" !in step && path.endsWith(step["path"] as String? ?: ""), "$step: $path")
    } catch (err: SdkException) {
        val fault = if (err is SdkException.Download) "/${err.fault}" else ""
        assertEquals(step["error"], err.javaClass.simpleName + fault, "$step: $err")
        assertTrue(err.message!!.contains(step["says"] as String? ?: ""), "$step: $err")
    }

    private suspend fun path(step: Map<String, Any?>): String = when (val kind = step.keys.first()) {
        "find" -> hub.find(step[kind] as String)
        "load" -> hub.find(step[kind] as String).also { ModelRunner.load(it) }
        "pull" -> pull(step)
        else -> fetch(step)
    }

    private fun pull(step: Map<String, Any?>): String {
        var last: PullProgress? = null
        val path = hub.pullBlocking(step["pull"] as String) { progress ->
            last = progress
            progress.done < (step["cancel_at"] as Long? ?: Long.MAX_VALUE)
        }
        for ((key, value) in listOf("total" to last?.total, "resumed_from" to last?.resumedFrom)) {
            if (key in step) assertEquals(step[key], value, "$step")
        }
        return path
    }

    private suspend fun fetch(step: Map<String, Any?>): String {
        val planned = hub.plan(step["fetch"] as String)
        val plan = if (restarts) DownloadPlan.fromJson(planned.toJson()) else planned
        val missing = hub.missingFiles(plan)
        val seen = mapOf("size" to plan.size(), "missing" to hub.missingBytes(plan), "files" to missing.map { it.path })
        for ((key, value) in seen) {
            if (key in step) assertEquals(step[key], value, "$step")
        }
        for (file in missing) {
            val received = folder.resolve("received")
            received.writeBytes(URL(file.url).readBytes())
            assertEquals(file.path, hub.install(plan, received.path))
        }
        return hub.finish(plan)
    }
}
