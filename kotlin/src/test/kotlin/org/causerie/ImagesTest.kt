package org.causerie

import java.awt.color.ColorSpace
import java.awt.image.BufferedImage
import java.awt.image.ComponentColorModel
import java.awt.image.DataBuffer
import java.awt.image.Raster
import java.io.File
import java.io.IOException
import javax.imageio.ImageIO
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Images of messages, on a small vision model with random weights. */
class ImagesTest {
    private val folder = repository.resolve("tests/fixtures/models/lfm2vl")
    private val picture = BufferedImage(40, 30, BufferedImage.TYPE_INT_RGB).apply {
        for (x in 0 until width) for (y in 0 until height) setRGB(x, y, x * 6 shl 16 or (y * 8))
    }
    private val options = generationOptions {
        temperature = 0f
        maxTokens = 4
    }

    private fun decoded(image: ChatMessageContent.Image) = ImageIO.read(image.data.inputStream())

    private fun ModelRunner.answer(vararg content: ChatMessageContent): MessageResponse.Complete {
        val message = ChatMessage(ChatMessage.Role.USER, content.toList())
        return createConversation("").use { it.generateResponse(message, options).read().complete() }
    }

    @Test
    fun `an image is made of a file and of an image in memory`() {
        val file = File.createTempFile("causerie", ".png")
        ImageIO.write(picture, "png", file)
        assertArrayEquals(file.readBytes(), imageContent(file).data)
        file.delete()
        assertThrows(IOException::class.java) { imageContent(file) }
        for (kind in listOf(
            BufferedImage.TYPE_INT_RGB,
            BufferedImage.TYPE_INT_ARGB_PRE,
            BufferedImage.TYPE_3BYTE_BGR,
            BufferedImage.TYPE_BYTE_GRAY,
            BufferedImage.TYPE_USHORT_GRAY,
            BufferedImage.TYPE_BYTE_INDEXED
        )) {
            val image = BufferedImage(40, 30, kind).apply { createGraphics().drawImage(picture, 0, 0, null) }
            val found = decoded(imageContent(image))
            for (x in 0 until 40) for (y in 0 until 30) assertEquals(image.getRGB(x, y), found.getRGB(x, y), "$kind")
        }
    }

    @Test
    fun `pixels that PNG does not have are shown in RGB`() {
        val space = ColorSpace.getInstance(ColorSpace.CS_sRGB)
        val model = ComponentColorModel(space, false, false, ComponentColorModel.OPAQUE, DataBuffer.TYPE_FLOAT)
        val raster = Raster.createWritableRaster(model.createCompatibleSampleModel(8, 8), null)
        val image = BufferedImage(model, raster, false, null)
        image.setRGB(2, 1, 0x336699)
        val found = decoded(imageContent(image))
        assertEquals(0x336699, found.getRGB(2, 1) and 0xFFFFFF)
        assertEquals(0, found.getRGB(1, 2) and 0xFFFFFF)
    }

    @Test
    fun `a projector is found or given, and its absence is named`() {
        val alone = File.createTempFile("causerie", ".gguf")
        folder.resolve("lfm2vl-f16.gguf").copyTo(alone, overwrite = true)
        val image = imageContent(picture)
        val question = ChatMessageContent.Text("What is it?")
        loadModelBlocking(alone.path).use { blind ->
            assertFalse(blind.info.supportsImages)
            assertEquals(0, blind.info.visionMemory)
            val err = assertThrows(SdkException.UnsupportedContent::class.java) { blind.answer(question, image) }
            assertTrue(err.message.startsWith("messages[0].content[1]: images require the model's projector file"))
        }
        val given = loadOptions { projector = folder.resolve("mmproj-lfm2vl-f16.gguf").path }
        val expected = loadModelBlocking(alone.path, given).use { vision ->
            assertTrue(vision.info.supportsImages)
            assertTrue(vision.info.visionMemory in 1 until vision.info.memoryEstimate)
            vision.answer(image, question)
        }
        loadModelBlocking(folder.resolve("lfm2vl-f16.gguf").path).use { beside ->
            val found = beside.answer(image, question)
            assertEquals(expected.fullMessage, found.fullMessage)
            assertTrue(beside.answer(question).stats.promptTokens < found.stats.promptTokens)
        }
        alone.delete()
    }

    @Test
    fun `progress counts the images and tokens of a prompt`() {
        loadModelBlocking(folder.resolve("lfm2vl-f16.gguf").path).use { runner ->
            runner.createConversation("").use { conversation ->
                assertEquals(PrefillProgress(0, 0, 0, 0), conversation.prefillProgress)
                val content = listOf(imageContent(picture), ChatMessageContent.Text("What is it?"))
                val message = ChatMessage(ChatMessage.Role.USER, content)
                val reply = conversation.generateResponse(message, options).read().complete()
                val tokens = reply.stats.promptTokens
                assertEquals(PrefillProgress(tokens, tokens, 1, 1), conversation.prefillProgress)
            }
        }
    }

    @Test
    fun `a prompt with a marker shows an image`() {
        loadModelBlocking(repository.resolve("tests/fixtures/models/lfm2vl-hf").path).use { runner ->
            val question = ChatMessageContent.Text("What is it?")
            val placeholder = ChatMessageContent.Image(ByteArray(0))
            val prompt = runner.renderPrompt(listOf(ChatMessage(ChatMessage.Role.USER, listOf(placeholder, question))))
            assertTrue("<image>" in prompt, prompt)
            val image = imageContent(picture)
            val expected = runner.answer(image, question)
            runner.completeWithImages(prompt, listOf(image.data), options).use { stream ->
                val text = generateSequence { stream.nextBlocking() }.filterIsInstance<MessageResponse.Chunk>()
                assertEquals(expected.fullMessage.text, text.joinToString("") { it.text })
            }
            runner.completeWithImages(prompt, emptyList()).use { stream -> stream.cancel() }
            runner.completeWithImages("no marker", listOf(image.data), options).use { stream ->
                assertThrows(SdkException.InvalidMessage::class.java) { stream.nextBlocking() }
            }
        }
    }
}
