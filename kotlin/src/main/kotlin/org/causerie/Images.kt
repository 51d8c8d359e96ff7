@file:JvmName("Images")

package org.causerie

import java.awt.image.BufferedImage
import java.io.ByteArrayOutputStream
import java.io.File
import java.io.IOException
import javax.imageio.ImageIO

/** An image in a JPEG, PNG, WebP or GIF file. */
@Throws(IOException::class)
public fun imageContent(file: File): ChatMessageContent.Image = ChatMessageContent.Image(file.readBytes())

/** An image in memory. `BufferedImage` does not exist on Android. */
public fun imageContent(image: BufferedImage): ChatMessageContent.Image {
    val file = ByteArrayOutputStream()
    // PNG takes no other pixels than grey and RGB.
    check(ImageIO.write(image, "png", file) || ImageIO.write(inRgb(image), "png", file)) { "a PNG writer is missing" }
    return ChatMessageContent.Image(file.toByteArray())
}

private fun inRgb(image: BufferedImage): BufferedImage {
    val rgb = BufferedImage(image.width, image.height, BufferedImage.TYPE_INT_RGB)
    rgb.createGraphics().apply { drawImage(image, 0, 0, null) }.dispose()
    return rgb
}
