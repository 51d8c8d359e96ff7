//! Number literals of Python; integers are exact at any size.

use crate::function::{BigInteger, RejectionReason, Repair, Value};
use crate::notation::cursor::Cursor;
use crate::notation::repairs::Repairs;

/// Digits that an integer in base 2, 8 or 16 may have: converting them takes quadratic time.
const MAX_RADIX_DIGITS: usize = 4096;

/// Takes the characters that could form a number, with its sign.
pub(super) fn lexeme<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    let start = cursor.at;
    let _signed = cursor.eat("-") || cursor.eat("+");
    let is_hexadecimal = cursor.rest().starts_with("0x") || cursor.rest().starts_with("0X");
    let belongs = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.');
    let mut digits = cursor.eat_while(belongs);
    while !is_hexadecimal && digits.ends_with(['e', 'E']) && (cursor.eat("+") || cursor.eat("-")) {
        digits = cursor.eat_while(belongs);
    }
    &cursor.text[start..cursor.at]
}

/// Reads a number.
pub(crate) fn read(lexeme: &str, repairs: &mut Repairs) -> Result<Value, RejectionReason> {
    let unsigned = lexeme.strip_prefix(['-', '+']).unwrap_or(lexeme);
    let is_negative = lexeme.starts_with('-');
    if let Some((radix, digits)) = radix_digits(unsigned) {
        return radix_integer(digits, radix, is_negative);
    }
    if are_digits(unsigned) {
        if unsigned.len() > 1 && unsigned.starts_with('0') {
            repairs.add(Repair::LeadingZero);
        }
        return Ok(integer(&unsigned.replace('_', ""), is_negative));
    }
    if is_float(unsigned) {
        return float(&lexeme.replace('_', ""));
    }
    let is_complex = unsigned.strip_suffix(['j', 'J']).is_some_and(|real| are_digits(real) || is_float(real));
    Err(if is_complex { RejectionReason::UnsupportedExpression } else { RejectionReason::MalformedSyntax })
}

/// An integer from its decimal digits.
pub(crate) fn integer(digits: &str, is_negative: bool) -> Value {
    let digits = digits.trim_start_matches('0');
    let signed = match digits {
        "" => "0".to_owned(), // integers have no negative zero
        _ if is_negative => format!("-{digits}"),
        _ => digits.to_owned(),
    };
    match signed.parse() {
        Ok(integer) => Value::Integer(integer),
        Err(_) => BigInteger::from_digits(&signed).map_or(Value::Null, Value::BigInteger),
    }
}

/// A finite number from its text.
pub(crate) fn float(text: &str) -> Result<Value, RejectionReason> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::Number(number)),
        Ok(_) => Err(RejectionReason::NonFiniteNumber),
        Err(_) => Err(RejectionReason::MalformedSyntax),
    }
}

/// Whether a text is decimal digits, with single underscores between them.
fn are_digits(text: &str) -> bool {
    text.split('_').all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (text, None),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some((whole, fraction)) => {
            (whole.is_empty() || are_digits(whole))
                && (fraction.is_empty() || are_digits(fraction))
                && !(whole.is_empty() && fraction.is_empty())
        }
        None => exponent.is_some() && are_digits(mantissa),
    };
    is_mantissa && exponent.is_none_or(are_digits)
}

fn radix_digits(text: &str) -> Option<(u32, &str)> {
    let digits = text.strip_prefix('0')?;
    let radix = match digits.chars().next()? {
        'x' | 'X' => 16,
        'o' | 'O' => 8,
        'b' | 'B' => 2,
        _ => return None,
    };
    Some((radix, &digits[1..]))
}

fn radix_integer(digits: &str, radix: u32, is_negative: bool) -> Result<Value, RejectionReason> {
    let digits = digits.strip_prefix('_').unwrap_or(digits);
    let is_well_formed =
        digits.split('_').all(|group| !group.is_empty() && group.chars().all(|digit| digit.is_digit(radix)));
    if !is_well_formed {
        return Err(RejectionReason::MalformedSyntax);
    }
    if digits.len() > MAX_RADIX_DIGITS {
        return Err(RejectionReason::TooLarge);
    }
    Ok(integer(&to_decimal(digits.chars().filter_map(|digit| digit.to_digit(radix)), radix), is_negative))
}

/// Converts digits to base ten.
fn to_decimal(digits: impl Iterator<Item = u32>, radix: u32) -> String {
    const GROUP: u64 = 1_000_000_000;
    let mut groups = vec![0_u32]; // nine decimal digits each, the lowest first
    for digit in digits {
        crate::notation::work::count(groups.len());
        let mut carry = u64::from(digit);
        for group in &mut groups {
            let sum = u64::from(*group) * u64::from(radix) + carry;
            *group = (sum % GROUP) as u32; // below GROUP
            carry = sum / GROUP;
        }
        if carry > 0 {
            groups.push(carry as u32); // below radix
        }
    }
    groups.iter().rev().map(|group| format!("{group:09}")).collect()
}
