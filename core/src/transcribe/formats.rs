//! Transcripts as files: subtitles, and JSON.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::transcribe::transcript::{Transcript, TranscriptSegment, TranscriptWord};

impl Transcript {
    /// The segments as subtitles in the SubRip form.
    ///
    /// ```
    /// use std::time::Duration;
    /// use causerie::transcribe::{Transcript, TranscriptSegment};
    /// # let segment = TranscriptSegment { start: Duration::ZERO, end: Duration::from_millis(1500), text: " Hello.".into(),
    /// #     tokens: vec![], avg_logprob: 0.0, no_speech_prob: 0.0, compression_ratio: 0.0, temperature: 0.0, words: vec![] };
    /// let transcript = Transcript { segments: vec![segment], ..Default::default() };
    /// assert_eq!(transcript.to_srt(), "1\n00:00:00,000 --> 00:00:01,500\nHello.\n\n");
    /// ```
    pub fn to_srt(&self) -> String {
        let mut text = String::new();
        for (number, segment) in (1..).zip(&self.segments) {
            let [start, end] = [segment.start, segment.end].map(|time| clock(time, ','));
            let _ = write!(text, "{number}\n{start} --> {end}\n{}\n\n", line(segment)); // strings take everything
        }
        text
    }

    /// The segments as subtitles in the WebVTT form.
    ///
    /// ```
    /// use causerie::transcribe::Transcript;
    /// assert_eq!(Transcript::default().to_vtt(), "WEBVTT\n\n");
    /// ```
    pub fn to_vtt(&self) -> String {
        let mut text = "WEBVTT\n\n".to_owned();
        for segment in &self.segments {
            let [start, end] = [segment.start, segment.end].map(|time| clock(time, '.'));
            let line = line(segment).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = write!(text, "{start} --> {end}\n{line}\n\n"); // strings take everything
        }
        text
    }

    /// The transcript as JSON with the names of OpenAI's `verbose_json`; times are in seconds. Words are left out if there are
    /// none.
    ///
    /// ```
    /// use causerie::transcribe::Transcript;
    /// let transcript = Transcript { text: "Hello.".to_owned(), language: "en".to_owned(), ..Default::default() };
    /// assert_eq!(transcript.to_json(), r#"{"language":"en","duration":0.0,"text":"Hello.","segments":[]}"#);
    /// ```
    pub fn to_json(&self) -> String {
        let mut json = json!({
            "language": self.language,
            "duration": seconds(self.duration),
            "text": self.text,
            "segments": self.segments.iter().enumerate().map(|(id, it)| segment(id, it)).collect::<Vec<_>>(),
        });
        let words: Vec<_> = self.segments.iter().flat_map(|segment| &segment.words).map(word).collect();
        if !words.is_empty() {
            json["words"] = Json::Array(words);
        }
        json.to_string()
    }
}

fn segment(id: usize, segment: &TranscriptSegment) -> Json {
    json!({
        "id": id,
        // In the unit of Whisper's times of windows, 10 ms.
        "seek": segment.start.as_millis() / 10,
        "start": seconds(segment.start),
        "end": seconds(segment.end),
        "text": segment.text,
        "tokens": segment.tokens,
        "temperature": rounded(segment.temperature),
        "avg_logprob": rounded(segment.avg_logprob),
        "compression_ratio": rounded(segment.compression_ratio),
        "no_speech_prob": rounded(segment.no_speech_prob),
    })
}

fn word(word: &TranscriptWord) -> Json {
    json!({ "word": word.word, "start": seconds(word.start), "end": seconds(word.end) })
}

/// The text of a subtitle: one line, since an empty one would end it.
fn line(segment: &TranscriptSegment) -> String {
    segment.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Hours, minutes, seconds and milliseconds.
fn clock(time: Duration, point: char) -> String {
    let seconds = time.as_secs();
    let [hours, minutes, seconds] = [seconds / 3_600, seconds / 60 % 60, seconds % 60];
    format!("{hours:02}:{minutes:02}:{seconds:02}{point}{:03}", time.subsec_millis())
}

fn seconds(time: Duration) -> f64 {
    time.as_millis() as f64 / 1_000.0 // exact up to 2^53
}

/// A number of few digits, as decimal fractions that are f32 show themselves.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript() -> Transcript {
        let segment = |start, end, text: &str, words: Vec<TranscriptWord>| TranscriptSegment {
            start: Duration::from_millis(start),
            end: Duration::from_millis(end),
            text: text.to_owned(),
            tokens: vec![1, 2],
            avg_logprob: -0.25,
            no_speech_prob: 0.1,
            compression_ratio: 1.5,
            temperature: 0.0,
            words,
        };
        let word = TranscriptWord {
            word: " One".to_owned(),
            start: Duration::ZERO,
            end: Duration::from_millis(420),
            probability: 0.9,
        };
        Transcript {
            text: "One.\n\nTwo <b> & three.".to_owned(),
            language: "en".to_owned(),
            duration: Duration::from_millis(3_725_040),
            segments: vec![
                segment(0, 1_240, " One.\n\n", vec![word]),
                segment(3_723_005, 3_725_040, " Two <b> & three.", vec![]),
            ],
            was_cancelled: false,
        }
    }

    #[test]
    fn subtitles_have_one_line_and_their_times() {
        assert_eq!(
            transcript().to_srt(),
            "1\n00:00:00,000 --> 00:00:01,240\nOne.\n\n2\n01:02:03,005 --> 01:02:05,040\nTwo <b> & three.\n\n"
        );
        assert_eq!(
            transcript().to_vtt(),
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.240\nOne.\n\n01:02:03.005 --> 01:02:05.040\nTwo &lt;b&gt; &amp; three.\n\n"
        );
    }

    #[test]
    fn json_has_the_names_of_verbose_json() {
        let json: Json = serde_json::from_str(&transcript().to_json()).unwrap();
        assert_eq!((&json["duration"], &json["language"]), (&json!(3725.04), &json!("en")));
        assert_eq!(
            json["segments"][0],
            json!({
                "id": 0, "seek": 0, "start": 0.0, "end": 1.24, "text": " One.\n\n", "tokens": [1, 2], "temperature": 0.0,
                "avg_logprob": -0.25, "compression_ratio": 1.5, "no_speech_prob": 0.1,
            })
        );
        assert_eq!(json["words"], json!([{ "word": " One", "start": 0.0, "end": 0.42 }]));
    }
}
