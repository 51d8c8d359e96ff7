@file:JvmName("AndroidImages")

package org.causerie

import android.graphics.Bitmap
import java.io.ByteArrayOutputStream

/** An image in memory. `Bitmap` exists on Android only. */
public fun imageContent(bitmap: Bitmap): ChatMessageContent.Image {
    val file = ByteArrayOutputStream()
    check(bitmap.compress(Bitmap.CompressFormat.PNG, 100, file)) { "the bitmap cannot be written as a PNG file" }
    return ChatMessageContent.Image(file.toByteArray())
}
