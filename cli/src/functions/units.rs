//! Converts between units, by the names and abbreviations that people use.

use causerie::Value;

use crate::functions::calculator::tidy;

/// A unit of some kind. A value times `factor`, plus `offset`, is the value in the kind's first unit.
struct MeasurementUnit {
    kind: &'static str,
    factor: f64,
    offset: f64,
    /// Singular names and abbreviations; plurals in -s and -es are understood.
    names: &'static [&'static str],
}

const fn unit(kind: &'static str, factor: f64, names: &'static [&'static str]) -> MeasurementUnit {
    MeasurementUnit { kind, factor, offset: 0.0, names }
}

/// All units. Factors are exact by definition: international yard and pound, US liquid measures.
const UNITS: [MeasurementUnit; 48] = [
    unit("length", 1.0, &["metre", "meter", "m"]),
    unit("length", 1000.0, &["kilometre", "kilometer", "km"]),
    unit("length", 0.01, &["centimetre", "centimeter", "cm"]),
    unit("length", 0.001, &["millimetre", "millimeter", "mm"]),
    unit("length", 1609.344, &["mile", "mi"]),
    unit("length", 0.9144, &["yard", "yd"]),
    unit("length", 0.3048, &["foot", "feet", "ft"]),
    unit("length", 0.0254, &["inch", "in"]),
    unit("length", 1852.0, &["nautical mile", "nmi"]),
    unit("mass", 1.0, &["kilogram", "kilogramme", "kg", "kilo"]),
    unit("mass", 0.001, &["gram", "gramme", "g"]),
    unit("mass", 1e-6, &["milligram", "mg"]),
    unit("mass", 1000.0, &["tonne", "metric ton", "t"]),
    unit("mass", 0.453_592_37, &["pound", "lb", "lbs"]),
    unit("mass", 0.028_349_523_125, &["ounce", "oz"]),
    unit("mass", 6.350_293_18, &["stone", "st"]),
    unit("volume", 1.0, &["litre", "liter", "l"]),
    unit("volume", 0.001, &["millilitre", "milliliter", "ml"]),
    unit("volume", 0.01, &["centilitre", "centiliter", "cl"]),
    unit("volume", 0.1, &["decilitre", "deciliter", "dl"]),
    unit("volume", 3.785_411_784, &["gallon", "gal"]),
    unit("volume", 0.946_352_946, &["quart", "qt"]),
    unit("volume", 0.473_176_473, &["pint", "pt"]),
    unit("volume", 0.236_588_236_5, &["cup"]),
    unit("volume", 0.014_786_764_781_25, &["tablespoon", "tbsp"]),
    unit("volume", 0.004_928_921_593_75, &["teaspoon", "tsp"]),
    unit("volume", 0.029_573_529_562_5, &["fluid ounce", "fl oz"]),
    unit("temperature", 1.0, &["degree celsius", "celsius", "°c", "c"]),
    MeasurementUnit {
        kind: "temperature",
        factor: 5.0 / 9.0,
        offset: -160.0 / 9.0,
        names: &["degree fahrenheit", "fahrenheit", "°f", "f"],
    },
    MeasurementUnit { kind: "temperature", factor: 1.0, offset: -273.15, names: &["kelvin", "k"] },
    unit("speed", 1.0, &["metre per second", "meter per second", "m/s"]),
    unit("speed", 1.0 / 3.6, &["kilometre per hour", "kilometer per hour", "km/h", "kmh", "kph"]),
    unit("speed", 0.447_04, &["mile per hour", "mph"]),
    unit("speed", 1852.0 / 3600.0, &["knot", "kn", "kt"]),
    unit("time", 1.0, &["second", "sec", "s"]),
    unit("time", 60.0, &["minute", "min"]),
    unit("time", 3600.0, &["hour", "hr", "h"]),
    unit("time", 86_400.0, &["day", "d"]),
    unit("time", 604_800.0, &["week", "wk"]),
    unit("area", 1.0, &["square metre", "square meter", "m²", "m2"]),
    unit("area", 1e6, &["square kilometre", "square kilometer", "km²", "km2"]),
    unit("area", 10_000.0, &["hectare", "ha"]),
    unit("area", 4_046.856_422_4, &["acre", "ac"]),
    unit("area", 0.092_903_04, &["square foot", "square feet", "ft²", "sq ft"]),
    unit("data", 1.0, &["megabyte", "mb"]),
    unit("data", 0.001, &["kilobyte", "kb"]),
    unit("data", 1000.0, &["gigabyte", "gb"]),
    unit("data", 1e6, &["terabyte", "tb"]),
];

/// Converts a value and rounds it for people: two decimal places, or three significant digits for small numbers.
pub(super) fn convert(value: f64, from: &str, to: &str) -> Result<Value, String> {
    let (from_unit, to_unit) = (find(from)?, find(to)?);
    if from_unit.kind != to_unit.kind {
        return Err(format!("{from} is a unit of {}, and {to} of {}", from_unit.kind, to_unit.kind));
    }
    let result = (value * from_unit.factor + from_unit.offset - to_unit.offset) / to_unit.factor;
    if !result.is_finite() {
        return Err(format!("{value} {from} has no finite value in {to}"));
    }
    let places = if result.abs() < 1.0 && result != 0.0 { 2 - result.abs().log10().floor() as i32 } else { 2 };
    let scale = 10f64.powi(places);
    let rounded = (result * scale).round() / scale;
    Ok(tidy(if rounded.is_finite() { rounded } else { result }))
}

fn find(name: &str) -> Result<&'static MeasurementUnit, String> {
    let wanted = name.trim().to_lowercase();
    // "miles per hour" and "degrees celsius" carry the plural on their first word.
    let first_singular = wanted.split_once(' ').map(|(first, rest)| format!("{} {rest}", first.trim_end_matches('s')));
    let spellings =
        [Some(wanted.as_str()), wanted.strip_suffix("es"), wanted.strip_suffix('s'), first_singular.as_deref()];
    let is_known = |unit: &&MeasurementUnit| spellings.iter().flatten().any(|spelling| unit.names.contains(spelling));
    UNITS.iter().find(is_known).ok_or_else(|| format!("no unit named {}", name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: f64, from: &str, to: &str, expect: &str) {
        let result = convert(value, from, to).map_or_else(|err| err, |value| value.to_string());
        assert_eq!(result, expect);
    }

    #[test]
    fn units_are_found_by_name_plural_and_abbreviation() {
        check(26.0, "miles", "kilometres", "41.84");
        check(26.0, "mi", "KM", "41.84");
        check(12.0, "inches", "ft", "1");
        check(60.0, "miles per hour", "km/h", "96.56");
        check(2.0, "cups", "ml", "473.18");
    }

    #[test]
    fn temperatures_have_offsets() {
        check(212.0, "degrees Fahrenheit", "celsius", "100");
        check(-40.0, "C", "F", "-40");
        check(0.0, "celsius", "kelvin", "273.15");
    }

    #[test]
    fn small_results_keep_three_digits() {
        check(1.0, "mm", "miles", "6.21e-07");
        check(5.0, "grams", "kg", "0.005");
    }

    #[test]
    fn no_two_units_share_a_name() {
        let mut names: Vec<&str> = UNITS.iter().flat_map(|unit| unit.names).copied().collect();
        let n_names = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), n_names);
    }

    #[test]
    fn errors_say_why() {
        check(1.0, "miles", "kilos", "miles is a unit of length, and kilos of mass");
        check(1.0, "parsecs", "km", "no unit named parsecs");
        check(f64::MAX, "km", "mm", &format!("{} km has no finite value in mm", f64::MAX));
    }
}
