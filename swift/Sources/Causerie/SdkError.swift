import Foundation

extension SdkError: CustomStringConvertible {}

extension SdkError: LocalizedError {
    /// What went wrong, as one readable line.
    public var errorDescription: String? { description }
}
