//! Files of sound: what ffmpeg decodes of them, and those that are cut, damaged or hostile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Map, Value as Json};

use super::testing::sound;
use super::*;
use crate::error::ErrorKind;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/sounds")
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn index() -> Map<String, Json> {
    let json: Json = serde_json::from_slice(&file("index.json")).unwrap();
    json.as_object().unwrap().clone()
}

fn refusal(file: &[u8]) -> String {
    let err = Sound::read(file).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::UnsupportedContent);
    err.to_string()
}

#[test]
fn files_have_the_samples_that_ffmpeg_decodes() {
    let mut n_files = 0;
    for (name, expect) in index() {
        let Ok(found) = Sound::read(&file(&name)) else { continue };
        n_files += 1;
        assert_eq!(u64::from(found.sample_rate()), expect["rate"].as_u64().unwrap(), "{name}");
        assert_eq!(found.samples().len() as u64, expect["frames"].as_u64().unwrap(), "{name}");
        // Decoders of MP3 and Opus round differently.
        let is_lossy = name.ends_with(".mp3") || name.ends_with(".ogg");
        let tolerance = if is_lossy { 5e-5 } else { 1e-6 };
        let first = expect["first_8_mono"].as_array().unwrap();
        // The reference's mix of six channels is a weighted one; the values are the mean.
        for (found, expect) in found.samples().iter().zip(first) {
            assert!((f64::from(*found) - expect.as_f64().unwrap()).abs() <= tolerance, "{name}: {found} for {expect}");
        }
        let sum: f64 = found.samples().iter().map(|sample| f64::from(sample.abs())).sum();
        let slack = tolerance * (found.samples().len() + 100) as f64;
        assert!((sum - expect["sum_abs_mono"].as_f64().unwrap()).abs() <= slack, "{name}: {sum}");
    }
    assert_eq!(n_files, 32);
}

#[test]
fn formats_that_are_not_read_are_named() {
    for (name, expect) in [
        ("aac.m4a", "the sound must be a WAV, FLAC, MP3 or Ogg Opus file, found MP4 or M4A (AAC)"),
        ("opus.webm", "the sound must be a WAV, FLAC, MP3 or Ogg Opus file, found WebM or Matroska"),
        ("vorbis.ogg", "the Ogg file must have Opus sound, found Vorbis"),
        (
            "ima-adpcm.wav",
            "the WAV file must have PCM, float, A-law or mu-law samples, found IMA ADPCM (format 0x0011)",
        ),
    ] {
        assert_eq!(refusal(&file(name)), expect);
    }
    for (start, found) in [
        (&b"FORM\0\0\0\0AIFF"[..], "AIFF"),
        (b"#!AMR-WB\n\0\0\0", "AMR"),
        (b"\xFF\xF1\x50\x80\0\x1F\xFC\0\0\0\0\0", "AAC"),
        (b"RIFF\0\0\0\0AVI LIST", "a RIFF file that is not WAV"),
        (b"\x30\x26\xB2\x75\x8E\x66\xCF\x11\xA6\xD9", "Windows Media"),
    ] {
        assert_eq!(refusal(start), format!("the sound must be a WAV, FLAC, MP3 or Ogg Opus file, found {found}"));
    }
    assert_eq!(refusal(b"Hello"), "the sound must be a WAV, FLAC, MP3 or Ogg Opus file");
    assert_eq!(refusal(b""), "the sound has no data");
}

/// A WAV file with these values in its format, and four bytes of samples.
fn wav(code: u16, n_channels: u16, rate: u32, frame: u16, bits: u16) -> Vec<u8> {
    let mut file = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0".to_vec();
    file.extend([code, n_channels].map(u16::to_le_bytes).as_flattened());
    file.extend([rate, 0].map(u32::to_le_bytes).as_flattened());
    file.extend([frame, bits].map(u16::to_le_bytes).as_flattened());
    file.extend(b"data\x04\0\0\0\0\x40\0\xC0");
    file
}

#[test]
fn values_that_no_wav_file_has_are_refused() {
    assert_eq!(Sound::read(&wav(1, 1, 8_000, 2, 16)).unwrap().samples(), [0.5, -0.5]);
    for (file, expect) in [
        (
            wav(1, 0, 8_000, 0, 16),
            "the WAV file must have as many bytes for each time as its channels need, found 0 for 0 of 16 bits",
        ),
        (
            wav(1, 2, 8_000, 2, 16),
            "the WAV file must have as many bytes for each time as its channels need, found 2 for 2 of 16 bits",
        ),
        (wav(1, 1, 0, 2, 16), "a sound must have between 1000 and 384000 samples per second, found 0"),
        (wav(1, 1, 8_000, 0, 0), "samples of the WAV file must have 8, 16, 24 or 32 bits, found 0"),
        (wav(3, 1, 8_000, 2, 16), "samples of the WAV file must have 32 or 64 bits, found 16"),
        (
            wav(1, 65_535, 8_000, 65_534, 16),
            "the WAV file must have as many bytes for each time as its channels need, found 65534 for 65535 of 16 bits",
        ),
        (wav(1, 100, 8_000, 200, 16), "a sound must have between 1 and 64 channels, found 100"),
        (
            wav(0xFFFE, 1, 8_000, 2, 16),
            "the WAV file must have PCM, float, A-law or mu-law samples, found format 0xfffe",
        ),
        (wav(1, 1, 8_000, 2, 16)[..30].to_vec(), "the format of the WAV file must have at least 16 bytes, found 10"),
        (wav(1, 1, 8_000, 2, 16)[..36].to_vec(), "the WAV file must have a data chunk, found none"),
        (
            b"RIFF\0\0\0\0WAVEdata\0\0\0\0".to_vec(),
            "the WAV file must have its format before its data, found data first",
        ),
    ] {
        assert_eq!(refusal(&file), expect);
    }
    let mut not_finite = wav(3, 1, 8_000, 4, 32);
    let at = not_finite.len() - 4;
    not_finite[at..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(refusal(&not_finite), "a sound must have finite samples, found NaN or infinity at 0");
}

#[test]
fn a_chunk_of_no_samples_before_others_is_no_stream() {
    let mut file = file("empty.wav");
    file.extend(b"LIST\x04\0\0\0INFO");
    assert!(Sound::read(&file).unwrap().samples().is_empty());
}

#[test]
fn a_rate_is_converted_while_a_file_is_read() {
    for name in ["rate48000.wav", "stereo16.wav", "flac24.flac", "opus.ogg"] {
        let file = file(name);
        let options = SoundOptions { sample_rate: Some(24_000), ..Default::default() };
        let found = Sound::read_with(&file, options).unwrap();
        assert_eq!((found.sample_rate(), found.samples()), (24_000, &*Sound::read(&file).unwrap().at_rate(24_000)));
    }
}

#[test]
fn sound_that_is_too_long_is_refused_before_it_is_decoded() {
    let options = SoundOptions { max_duration: Duration::from_millis(20), ..Default::default() };
    for (name, expect) in index() {
        if expect["frames"].as_u64() < Some(480) || Sound::read(&file(&name)).is_err() {
            continue;
        }
        let err = Sound::read_with(&file(&name), options).unwrap_err().to_string();
        assert!(err.starts_with("a sound must last at most 20ms, found at least "), "{name}: {err}");
    }
    // As its header says.
    let mut file = file("flac16.flac");
    file[21] |= 15;
    assert_eq!(refusal(&file), "a sound must last at most 3600s, found at least 4026531.87s");
}

#[test]
fn a_file_after_tags_is_read() {
    let tags = b"ID3\x04\0\0\0\0\0\x03abc";
    for name in ["flac16.flac", "mp3.mp3", "mp3-noid3.mp3"] {
        let file = file(name);
        let found = Sound::read(&[tags, &file[..]].concat()).unwrap();
        assert_eq!(found, Sound::read(&file).unwrap(), "{name}");
    }
}

/// The pages of an Ogg file: their bytes.
fn pages(file: &[u8]) -> Vec<Vec<u8>> {
    let starts: Vec<_> = (0..file.len()).filter(|at| file[*at..].starts_with(b"OggS")).chain([file.len()]).collect();
    starts.windows(2).map(|range| file[range[0]..range[1]].to_vec()).collect()
}

/// A page with the checksum of its other bytes.
fn sealed(mut page: Vec<u8>) -> Vec<u8> {
    page[22..26].fill(0);
    let sum = page.iter().fold(0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte) << 24, |sum, _| sum << 1 ^ if sum >> 31 == 1 { 0x04C1_1DB7 } else { 0 })
    });
    page[22..26].copy_from_slice(&sum.to_le_bytes());
    page
}

#[test]
fn streams_of_opus_that_are_joined_are_one_sound() {
    let file = file("opus.ogg");
    let alone = Sound::read(&file).unwrap();
    let second = pages(&file).into_iter().map(|mut page| {
        page[14] ^= 1;
        sealed(page)
    });
    let twice = Sound::read(&[file.clone(), second.collect::<Vec<_>>().concat()].concat()).unwrap();
    assert_eq!(twice.samples(), alone.samples().repeat(2));
    assert_eq!(Sound::read(&file.repeat(2)).unwrap().samples(), twice.samples());
}

#[test]
fn the_gain_of_an_opus_stream_is_applied() {
    let mut pages = pages(&file("opus.ogg"));
    // 6 decibels in 256ths.
    pages[0][27 + 1 + 16..][..2].copy_from_slice(&1_536u16.to_le_bytes());
    pages[0] = sealed(pages[0].clone());
    let louder = Sound::read(&pages.concat()).unwrap();
    let plain = Sound::read(&file("opus.ogg")).unwrap();
    assert!(louder.samples().iter().zip(plain.samples()).all(|(a, b)| (a - 1.995_262_3 * b).abs() < 1e-5));
}

#[test]
fn a_damaged_page_is_reported() {
    let mut file = file("opus.ogg");
    let at = file.len() - 1;
    file[at] ^= 1;
    assert_eq!(refusal(&file), "the Ogg file cannot be decoded: a page is damaged");
}

#[test]
fn what_is_left_of_a_cut_file_is_read() {
    for name in ["pcm16.wav", "flac16.flac", "mp3-noid3.mp3"] {
        let whole = Sound::read(&file(name)).unwrap();
        for length in 0..file(name).len() {
            if let Ok(found) = Sound::read(&file(name)[..length]) {
                assert!(found.samples().len() <= whole.samples().len(), "{name} cut at {length}");
            }
        }
    }
    let cut = Sound::read(&file("pcm16.wav")[..44 + 201]).unwrap();
    assert_eq!(cut.samples(), &Sound::read(&file("pcm16.wav")).unwrap().samples()[..100]);
}

#[test]
fn written_files_are_read() {
    let samples = sound(1_000, 24_000);
    let written = Sound::from_samples(samples, 24_000).unwrap();
    assert_eq!(Sound::read(&written.to_wav_of(WavSamples::Float32)).unwrap(), written);
    let found = Sound::read(&written.to_wav()).unwrap();
    assert_eq!(found.sample_rate(), 24_000);
    assert!(found.samples().iter().zip(written.samples()).all(|(a, b)| (a - b).abs() <= 0.5 / 32_768.0));
    assert_eq!(found.to_wav(), written.to_wav());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_files_do_no_harm(choice in 0usize..38, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let names: Vec<_> = index().keys().cloned().collect();
        let mut file = file(&names[choice % names.len()]);
        for (at, value) in flips {
            let at = at.index(file.len());
            file[at] = value;
        }
        drop(Sound::read(&file));
    }
}
