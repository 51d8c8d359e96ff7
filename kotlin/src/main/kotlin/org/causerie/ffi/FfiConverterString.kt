package org.causerie.ffi

import java.nio.ByteBuffer

/**
 * Passes strings to and from the engine, in the place of the generated object of this name, which refuses strings with half of a
 * surrogate pair. Here the half is replaced by a question mark.
 */
internal object FfiConverterString : FfiConverter<String, RustBuffer.ByValue> {
    override fun lift(value: RustBuffer.ByValue): String = try {
        val bytes = ByteArray(value.len.toInt())
        value.asByteBuffer()?.get(bytes)
        bytes.decodeToString()
    } finally {
        RustBuffer.free(value)
    }

    override fun read(buf: ByteBuffer): String {
        val bytes = ByteArray(buf.getInt())
        buf.get(bytes)
        return bytes.decodeToString()
    }

    override fun lower(value: String): RustBuffer.ByValue {
        val bytes = value.toByteArray()
        val buffer = RustBuffer.alloc(bytes.size.toULong())
        buffer.asByteBuffer()?.put(bytes)
        return buffer
    }

    /** The size is that of the longest encoding, because it must be known before the string is encoded. */
    override fun allocationSize(value: String): ULong = Int.SIZE_BYTES.toULong() + value.length.toULong() * 3UL

    override fun write(value: String, buf: ByteBuffer) {
        val bytes = value.toByteArray()
        buf.putInt(bytes.size)
        buf.put(bytes)
    }
}
