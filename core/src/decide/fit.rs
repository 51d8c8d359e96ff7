//! Temperatures from examples.

/// The temperatures that are tried.
const RANGE: (f64, f64) = (0.05, 20.0);
/// Halvings of the range, more or less: enough for four digits.
const STEPS: usize = 60;

/// The temperature at which answers fit examples best: the one of the least mean logarithmic loss. Each example has the probabilities of
/// an answer at temperature 1, and the index of the label that is right. 1 without examples.
///
/// ```
/// // Right in nine of ten, but only 60 % certain: the answers should be more certain.
/// let examples: Vec<(Vec<f64>, usize)> = (0..10).map(|i| (vec![0.6, 0.4], usize::from(i == 0))).collect();
/// let temperature = causerie::fit_temperature(&examples);
/// assert!((temperature - 0.1845).abs() < 1e-3); // ln(0.6 / 0.4) / ln(0.9 / 0.1)
/// ```
pub fn fit_temperature(examples: &[(Vec<f64>, usize)]) -> f64 {
    let is_usable = |example: &&(Vec<f64>, usize)| example.1 < example.0.len();
    let examples: Vec<(Vec<f64>, usize)> =
        examples.iter().filter(is_usable).map(|(probabilities, right)| (logs(probabilities), *right)).collect();
    if examples.is_empty() {
        return 1.0;
    }
    let loss = |log_temperature: f64| -> f64 {
        let temperature = log_temperature.exp();
        examples.iter().map(|(logs, right)| loss_of(logs, *right, temperature)).sum()
    };
    // The loss is convex in 1 / temperature, so it has one minimum; golden-section search finds it.
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (RANGE.0.ln(), RANGE.1.ln());
    for _ in 0..STEPS {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if loss(left) <= loss(right) { high = right } else { low = left }
    }
    f64::midpoint(low, high).exp()
}

/// Logarithms; what is impossible counts as very improbable, so that one such example does not decide alone.
fn logs(probabilities: &[f64]) -> Vec<f64> {
    probabilities.iter().map(|probability| probability.max(1e-12).ln()).collect()
}

fn loss_of(logs: &[f64], right: usize, temperature: f64) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max) / temperature;
    let sum: f64 = logs.iter().map(|log| (log / temperature - most).exp()).sum();
    most + sum.ln() - logs[right] / temperature
}
