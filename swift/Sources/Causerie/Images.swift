import Foundation

#if canImport(CoreGraphics) && canImport(ImageIO)
import CoreGraphics
import ImageIO
#endif
#if canImport(UIKit)
import UIKit
#elseif canImport(AppKit)
import AppKit
#endif

extension ChatMessageContent {
    /// An image: the bytes of a JPEG, PNG, WebP or GIF file.
    public static func image(_ data: Data) -> Self { .image(data: data) }

    /// An image in a file.
    ///
    /// - Parameter url: a file URL.
    /// - Throws: an error of Foundation if the file cannot be read, and ``SdkError/UnsupportedContent(reason:)`` for another URL.
    public static func image(contentsOf url: URL) throws -> Self {
        guard url.isFileURL else {
            throw SdkError.UnsupportedContent(reason: "url must be a file URL, found \(url.absoluteString)")
        }
        return .image(data: try Data(contentsOf: url))
    }

    #if canImport(CoreGraphics) && canImport(ImageIO)
    /// An image in memory.
    ///
    /// - Throws: ``SdkError/UnsupportedContent(reason:)`` if it cannot be written as a PNG file.
    public static func image(_ image: CGImage) throws -> Self {
        let data = NSMutableData()
        let png = "public.png" as CFString
        if let file = CGImageDestinationCreateWithData(data as CFMutableData, png, 1, nil) {
            CGImageDestinationAddImage(file, image, nil)
            if CGImageDestinationFinalize(file) { return .image(data: data as Data) }
        }
        throw SdkError.UnsupportedContent(reason: "the image cannot be written as a PNG file")
    }
    #endif

    #if canImport(UIKit)
    /// An image in memory, upright.
    ///
    /// - Throws: ``SdkError/UnsupportedContent(reason:)`` if it is empty.
    public static func image(_ image: UIImage) throws -> Self {
        guard 0 < image.size.width, 0 < image.size.height else {
            throw SdkError.UnsupportedContent(reason: "the image must have pixels, found \(image.size)")
        }
        // A PNG file of the image itself would lose its orientation.
        let format = UIGraphicsImageRendererFormat()
        format.scale = image.scale
        let renderer = UIGraphicsImageRenderer(size: image.size, format: format)
        return .image(data: renderer.pngData { _ in image.draw(at: .zero) })
    }
    #elseif canImport(AppKit)
    /// An image in memory.
    ///
    /// - Throws: ``SdkError/UnsupportedContent(reason:)`` if it has no pixels.
    public static func image(_ image: NSImage) throws -> Self {
        guard let pixels = image.cgImage(forProposedRect: nil, context: nil, hints: nil) else {
            throw SdkError.UnsupportedContent(reason: "the image must have pixels, found \(image.size)")
        }
        return try .image(pixels)
    }
    #endif
}
