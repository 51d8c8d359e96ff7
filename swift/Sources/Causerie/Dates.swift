import Foundation

extension JSONDecoder {
    /// A decoder for dates as models write them.
    static var dated: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            if let date = Date(iso8601: try container.decode(String.self)) { return date }
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "must be \(Date.expected)")
        }
        return decoder
    }
}

extension Date {
    /// The description of a valid date in error messages.
    static let expected = "a date and time such as 2026-01-31T12:00:00Z"

    // A reply that is constrained to the format date-time may have leap seconds, and fractions of any length.
    private static let form =
        #"\A([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-5][0-9]|60)(?:[.,]([0-9]+))?)?"#
        + #"([Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?\z"#

    /// A date, or a date and time, in ISO 8601. Without an offset from UTC, the time zone is that of the device.
    init?(iso8601 text: String) {
        guard let form = try? NSRegularExpression(pattern: Self.form),
            let found = form.firstMatch(in: text, range: NSRange(text.startIndex..., in: text))
        else { return nil }
        let parts = (0..<found.numberOfRanges).map { Range(found.range(at: $0), in: text).map { text[$0] } }
        func number(_ part: Int) -> Int { parts[part].flatMap { Int($0) } ?? 0 }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0)!
        let minute = DateComponents(
            year: number(1), month: number(2), day: number(3), hour: number(4), minute: number(5))
        // In UTC, where every minute exists: time zones that change their clocks skip some.
        guard minute.isValidDate(in: calendar) else { return nil }
        if parts[8] == nil { calendar.timeZone = .current }
        guard let date = calendar.date(from: minute) else { return nil }
        let fraction = parts[7].flatMap { Double("0.\($0)") } ?? 0
        self = date + (Double(number(6)) + fraction - Self.seconds(offset: parts[8] ?? "Z"))
    }

    /// The offset `Z`, `+01`, `+0100` or `+01:00` in seconds.
    private static func seconds(offset: Substring) -> Double {
        let digits = offset.filter(\.isNumber)
        let minutes = (Double(digits.prefix(2)) ?? 0) * 60 + (Double(digits.dropFirst(2)) ?? 0)
        return (offset.first == "-" ? -60 : 60) * minutes
    }
}
