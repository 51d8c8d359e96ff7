//! Evaluates arithmetic: `+ - * / ^`, `%`, parentheses, `sqrt`.

use causerie::Value;

/// Maximum depth of nested parentheses and signs.
const MAX_DEPTH: usize = 64;

/// Returns the value of an expression. `%` before an operand is the remainder, elsewhere it is per cent.
pub(super) fn evaluate(expression: &str) -> Result<f64, String> {
    let mut reader = ExpressionReader { rest: expression, depth: 0 };
    let value = reader.sum()?;
    if !reader.rest.trim_start().is_empty() {
        return Err(format!("cannot read {:?} in {expression:?}", reader.rest.trim_start()));
    }
    if value.is_finite() { Ok(value) } else { Err(format!("{expression} has no finite value")) }
}

/// Rounds a result to ten decimal places, which removes the noise of binary fractions; integers have no fraction.
pub(super) fn tidy(value: f64) -> Value {
    let rounded = (value * 1e10).round() / 1e10;
    let rounded = if rounded.is_finite() { rounded } else { value };
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        Value::Integer(rounded as i64) // exact: an integer below 2^53
    } else {
        Value::Number(rounded)
    }
}

struct ExpressionReader<'a> {
    rest: &'a str,
    depth: usize,
}

impl ExpressionReader<'_> {
    fn take(&mut self, spellings: &[&str]) -> bool {
        let rest = self.rest.trim_start();
        match spellings.iter().find_map(|spelling| rest.strip_prefix(spelling)) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.take(&["+"]) {
                value += self.product()?;
            } else if self.take(&["-", "−"]) {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        loop {
            if self.take(&["*", "×", "·"]) {
                value *= self.signed()?;
            } else if self.take(&["/", "÷"]) {
                let divisor = self.signed()?;
                if divisor == 0.0 {
                    return Err("division by zero".to_owned());
                }
                value /= divisor;
            } else if self.take(&["%"]) {
                // This is always a remainder: `percent` has consumed every per cent sign.
                value %= self.signed()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self) -> Result<f64, String> {
        self.deeper(|reader| {
            if reader.take(&["-", "−"]) {
                return Ok(-reader.signed()?);
            }
            let base = reader.percent()?;
            if reader.take(&["^", "**"]) { Ok(base.powf(reader.signed()?)) } else { Ok(base) }
        })
    }

    fn percent(&mut self) -> Result<f64, String> {
        let value = self.operand()?;
        let after = self.rest.trim_start().strip_prefix('%');
        let is_remainder =
            |after: &str| after.trim_start().starts_with(|next: char| next.is_ascii_digit() || ".(s√".contains(next));
        match after {
            Some(after) if !is_remainder(after) => {
                self.rest = after;
                Ok(value / 100.0)
            }
            _ => Ok(value),
        }
    }

    fn operand(&mut self) -> Result<f64, String> {
        if self.take(&["sqrt", "√"]) {
            let value = self.deeper(Self::operand)?;
            return if value < 0.0 { Err("square root of a negative number".to_owned()) } else { Ok(value.sqrt()) };
        }
        if self.take(&["("]) {
            let value = self.deeper(Self::sum)?;
            return if self.take(&[")"]) { Ok(value) } else { Err("a parenthesis is not closed".to_owned()) };
        }
        self.number()
    }

    fn number(&mut self) -> Result<f64, String> {
        let rest = self.rest.trim_start();
        let length = rest.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(length);
        self.rest = after;
        digits.parse().map_err(|_| match rest {
            "" => "the expression ends early".to_owned(),
            _ => format!("expected a number at {rest:?}"),
        })
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<f64, String>) -> Result<f64, String> {
        self.depth += 1;
        if MAX_DEPTH < self.depth {
            return Err("the expression is nested too deeply".to_owned());
        }
        let value = read(self);
        self.depth -= 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expect: &str) {
        let result = evaluate(expression).map_or_else(|err| err, |value| tidy(value).to_string());
        assert_eq!(result, expect, "{expression}");
    }

    #[test]
    fn operators_have_the_usual_precedence() {
        check("1 + 2 * 3", "7");
        check("(1 + 2) * 3", "9");
        check("2 ^ 3 ^ 2", "512");
        check("-2 ^ 2", "-4");
        check("10 - 4 - 3", "3");
        check("2 ** 10", "1024");
        check("7 × 6 ÷ 2", "21");
    }

    #[test]
    fn per_cent_and_remainder_are_distinguished() {
        check("15% * 80", "12");
        check("200 + 10%", "200.1");
        check("10 % 3", "1");
        check("50%", "0.5");
    }

    #[test]
    fn results_carry_no_binary_noise() {
        check("0.1 + 0.2", "0.3");
        check("sqrt(144)", "12");
        check("1 / 3", "0.3333333333");
        check("2 ^ 100", "1.2676506002282294e+30");
    }

    #[test]
    fn errors_say_why() {
        check("1 / 0", "division by zero");
        check("sqrt(0 - 4)", "square root of a negative number");
        check("2 +", "the expression ends early");
        check("two", "expected a number at \"two\"");
        check("1 2", "cannot read \"2\" in \"1 2\"");
        check(&"(".repeat(100_000), "the expression is nested too deeply");
        check(&"-".repeat(100_000), "the expression is nested too deeply");
        check("10 ^ 1000", "10 ^ 1000 has no finite value");
    }
}
