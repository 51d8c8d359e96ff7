@file:JvmName("Sounds")

package org.causerie

import java.io.File
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** Sound in a WAV, FLAC, MP3 or Ogg Opus file. */
@Throws(IOException::class)
public fun audioContent(file: File): ChatMessageContent.Audio = ChatMessageContent.Audio(file.readBytes())

/**
 * Sound of one channel, as a microphone gives it: a WAV file with 16 bits for each sample.
 *
 * @param samples usually between -1 and 1
 * @param sampleRate their number per second
 * @throws SdkException.UnsupportedContent if a sample is NaN or infinite, or if no sound has the rate
 */
@Throws(SdkException::class)
public fun audioContent(samples: FloatArray, sampleRate: Int): ChatMessageContent.Audio =
    ChatMessageContent.Audio(wavOfSamples(samples.littleEndian(), sampleRate.toLong()))

/** Adds samples of one channel, usually between -1 and 1, and returns the bytes of the file that are complete. */
public fun SoundFileWriter.push(samples: FloatArray): ByteArray = push(samples.littleEndian())

/** Adds the samples of an event, and returns the bytes of the file that are complete. */
public fun SoundFileWriter.push(samples: List<Float>): ByteArray = push(samples.toFloatArray())

/** The samples as the engine takes them. */
internal fun FloatArray.littleEndian(): ByteArray {
    val bytes = ByteBuffer.allocate(size * Float.SIZE_BYTES).order(ByteOrder.LITTLE_ENDIAN)
    bytes.asFloatBuffer().put(this)
    return bytes.array()
}
