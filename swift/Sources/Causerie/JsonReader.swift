/// Parses JSON text. Foundation's parser would round integers and, on Apple platforms, return booleans that also match
/// number types.
struct JsonReader {
    private let text: [UInt8]
    private var at = 0

    private init(_ text: String) {
        self.text = Array(text.utf8)
    }

    static func value(from text: String) throws -> JsonValue {
        var reader = JsonReader(text)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.at == reader.text.count else { throw reader.fault("the end") }
        return value
    }

    private mutating func value(depth: Int) throws -> JsonValue {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default:
            if take("true") { return .boolean(true) }
            if take("false") { return .boolean(false) }
            if take("null") { return .null }
            throw fault("a value")
        }
    }

    private mutating func object(depth: Int) throws -> JsonValue {
        var entries: [(name: String, value: JsonValue)] = []
        var names: Set<[UInt8]> = []
        try list(closing: "}", depth: depth) { reader in
            reader.skipSpace()
            let name = try reader.string()
            // Names are compared by their bytes, as in the engine.
            guard names.insert(Array(name.utf8)).inserted else { throw reader.fault("a name that does not occur yet") }
            reader.skipSpace()
            guard reader.take(":") else { throw reader.fault("a colon") }
            entries.append((name, try reader.value(depth: depth + 1)))
        }
        return .object(entries)
    }

    private mutating func array(depth: Int) throws -> JsonValue {
        var items: [JsonValue] = []
        try list(closing: "]", depth: depth) { reader in
            items.append(try reader.value(depth: depth + 1))
        }
        return .array(items)
    }

    private mutating func list(
        closing: StaticString, depth: Int, item: (inout JsonReader) throws -> Void
    ) throws {
        guard depth < JsonValue.deepest else { throw fault("no more than \(JsonValue.deepest) levels") }
        at += 1
        skipSpace()
        if take(closing) { return }
        repeat {
            try item(&self)
            skipSpace()
        } while take(",")
        guard take(closing) else { throw fault("a comma or \(closing)") }
    }

    private mutating func number() throws -> JsonValue {
        let start = at
        _ = take("-")
        let isZero = peek == UInt8(ascii: "0")
        guard case let count = digits(), count > 0, count == 1 || !isZero else { throw fault("a number") }
        var isInteger = true
        if take(".") {
            isInteger = false
            guard digits() > 0 else { throw fault("a digit") }
        }
        if take("e") || take("E") {
            isInteger = false
            _ = take("+") || take("-")
            guard digits() > 0 else { throw fault("a digit") }
        }
        let lexeme = String(decoding: text[start..<at], as: UTF8.self)
        if isInteger, let number = JsonValue.exactInteger(lexeme) { return number }
        guard let number = Double(lexeme), number.isFinite else { throw fault("a number that a Double can hold") }
        return .double(number)
    }

    private mutating func digits() -> Int {
        let start = at
        while UInt8(ascii: "0")...UInt8(ascii: "9") ~= peek { at += 1 }
        return at - start
    }

    private mutating func string() throws -> String {
        guard take("\"") else { throw fault("a string") }
        var bytes: [UInt8] = []
        while peek >= 0x20 {
            let byte = peek
            at += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: try escape())
            default: bytes.append(byte)
            }
        }
        throw fault("the end of the string")
    }

    /// Reads the escape after a backslash and returns its bytes.
    private mutating func escape() throws -> [UInt8] {
        let byte = peek
        at += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"):
            let unit = try hexadecimal()
            guard 0xD800...0xDFFF ~= unit else { return Array(String(UnicodeScalar(unit)!).utf8) }
            // A character beyond U+FFFF is written as a surrogate pair.
            guard unit < 0xDC00, take("\\u"), case let low = try hexadecimal(), 0xDC00...0xDFFF ~= low,
                let scalar = UnicodeScalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
            else { throw fault("the second half of a surrogate pair") }
            return Array(String(scalar).utf8)
        default:
            at -= 1
            throw fault("an escape")
        }
    }

    private mutating func hexadecimal() throws -> UInt32 {
        let digits = text[at...].prefix(4)
        let hexadecimal = String(decoding: digits, as: UTF8.self)
        guard digits.count == 4, digits.first != UInt8(ascii: "+"), let unit = UInt32(hexadecimal, radix: 16) else {
            throw fault("four hexadecimal digits")
        }
        at += 4
        return unit
    }

    /// The next byte, or 0 at the end, which never occurs in JSON.
    private var peek: UInt8 { at < text.count ? text[at] : 0 }

    private mutating func skipSpace() {
        while [0x20, 0x0A, 0x0D, 0x09].contains(peek) { at += 1 }
    }

    /// Consumes an ASCII string if it comes next.
    private mutating func take(_ wanted: StaticString) -> Bool {
        wanted.withUTF8Buffer { wanted in
            guard text[at...].starts(with: wanted) else { return false }
            at += wanted.count
            return true
        }
    }

    private func fault(_ expected: String) -> SdkError {
        .Serialization(reason: "expected \(expected) at byte \(at) of the JSON text")
    }
}
