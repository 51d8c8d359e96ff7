import Foundation

extension ChatMessageContent {
    /// Sound: the bytes of a WAV, FLAC, MP3 or Ogg Opus file.
    public static func audio(_ data: Data) -> Self { .audio(data: data) }

    /// Sound in a file.
    ///
    /// - Parameter url: a file URL.
    /// - Throws: an error of Foundation if the file cannot be read, and ``SdkError/UnsupportedContent(reason:)`` for
    ///   another URL.
    public static func audio(contentsOf url: URL) throws -> Self {
        .audio(data: try soundFile(at: url))
    }

    /// Sound of one channel, as a microphone gives it: a WAV file with 16 bits for each sample.
    ///
    /// - Parameters:
    ///   - samples: usually between -1 and 1.
    ///   - sampleRate: their number per second.
    /// - Throws: ``SdkError/UnsupportedContent(reason:)`` if a sample is NaN or infinite, or if no sound has the rate.
    public static func audio(samples: [Float], sampleRate: Int) throws -> Self {
        .audio(data: try rawWavOfSamples(samples: samples.littleEndian, sampleRate: Int64(sampleRate)))
    }
}

extension SoundFileWriter {
    /// Adds samples of one channel, usually between -1 and 1.
    ///
    /// - Returns: the bytes of the file that are complete; none after ``finish()``.
    public func push(_ samples: [Float]) -> Data { raw.push(samples: samples.littleEndian) }
}

extension [Float] {
    /// The samples as the engine takes them.
    var littleEndian: Data {
        map(\.bitPattern.littleEndian).withUnsafeBytes { Data($0) }
    }
}

/// Reads a file of sound.
func soundFile(at url: URL) throws -> Data {
    guard url.isFileURL else {
        throw SdkError.UnsupportedContent(reason: "url must be a file URL, found \(url.absoluteString)")
    }
    return try Data(contentsOf: url)
}
