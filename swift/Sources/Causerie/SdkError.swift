import Foundation

extension SdkError: CustomStringConvertible {}

extension SdkError: LocalizedError {
    /// The message, one line.
    public var errorDescription: String? { description }
}
