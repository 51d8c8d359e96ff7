/// Whether a type is an enum.
func isEnum(_ type: Any.Type) -> Bool {
    metadata(of: type).load(as: UInt.self) == 0x201
}

/// The values of an enum without associated values; `nil` for another type.
///
/// The coding keys that the compiler writes are not `CaseIterable`. Their number is in the metadata of their type, at
/// places that are part of Swift's ABI: `docs/ABI/TypeMetadata.rst` in Swift's repository. The values of such an enum are
/// the integers from zero, in one byte, and in none if there is only one: `docs/ABI/TypeLayout.rst`.
func enumValues<Value>(of type: Value.Type) -> [Value]? {
    if let type = type as? any CaseIterable.Type { return allCases(of: type) as? [Value] }
    #if _ptrauth(_arm64e)
    return nil  // pointers to descriptors are signed; coding keys must be CaseIterable there
    #else
    guard isEnum(type) else { return nil }
    let word = MemoryLayout<UInt>.size
    let descriptor = metadata(of: type).load(fromByteOffset: word, as: UnsafeRawPointer.self)
    let kind = descriptor.load(as: UInt32.self) & 0x1F
    let cases = descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF
    let emptyCases = Int(descriptor.load(fromByteOffset: 24, as: UInt32.self))
    guard kind == 18, cases == 0, 1...256 ~= emptyCases else { return nil }
    // An enum of Objective-C is larger.
    guard MemoryLayout<Value>.size == (emptyCases == 1 ? 0 : 1) else { return nil }
    return (0..<emptyCases).map { number in
        withUnsafeBytes(of: UInt8(number)) { $0.load(as: type) }
    }
    #endif
}

private func metadata(of type: Any.Type) -> UnsafeRawPointer {
    unsafeBitCast(type, to: UnsafeRawPointer.self)
}

private func allCases<Cases: CaseIterable>(of type: Cases.Type) -> Any { Array(type.allCases) }
