//! Opus in Ogg files (RFC 7845).

use opus_decoder::{OpusDecoder, OpusError, OpusMultistreamDecoder};

use crate::error::{Result, SdkError};
use crate::media::sound::ogg::{Page, Pages};
use crate::media::sound::recording::{Recording, unsupported};

/// Samples per second that decoders give, and that times are counted in.
const RATE: u32 = 48_000;
/// Channels at most: of what is not a field of sound, and so that a page has a bounded number of samples.
const MAX_CHANNELS: u8 = 8;

/// The streams of a file one after the other, as some radio stations join them.
pub(super) fn read_opus(file: &[u8], recording: &mut Recording) -> Result<()> {
    let mut pages = Pages(file);
    let mut stream: Option<OpusStream> = None;
    let mut other = None;
    while let Some(page) = pages.next()? {
        if let Some(stream) = stream.as_mut().filter(|stream| stream.number == page.stream && !page.is_first()) {
            stream.push(&page, recording)?;
            continue;
        }
        // A stream that begins beside the first one does not count.
        if !page.is_first() || stream.as_ref().is_some_and(|stream| !stream.has_begun()) {
            continue;
        }
        let Some(head) = OpusHead::read(&page)? else {
            other = other.or(Some(page));
            continue;
        };
        match &stream {
            None => recording.start(RATE, head.n_channels, None)?,
            Some(before) if before.n_channels == head.n_channels => {}
            Some(_) => return Err(unsupported("the Ogg file cannot be decoded: its number of channels changes")),
        }
        stream = Some(OpusStream::new(page.stream, &head)?);
    }
    match (stream, other) {
        (Some(_), _) => Ok(()),
        (None, Some(page)) => {
            let found = name_of_stream(page.body);
            Err(unsupported(format!("the Ogg file must have Opus sound, found {found}")))
        }
        (None, None) => Err(unsupported("the Ogg file must have Opus sound, found none")),
    }
}

/// What the first packet of a stream says.
struct OpusHead {
    n_channels: usize,
    /// Samples at the start that are not part of the sound.
    skipped: usize,
    /// Factor of all samples.
    gain: f32,
    /// The number of streams in a packet, how many of them have two channels, and which channel shows which of theirs.
    mapping: Option<(usize, usize, Vec<u8>)>,
}

impl OpusHead {
    /// Reads the head; `None` if the stream is another one.
    fn read(page: &Page<'_>) -> Result<Option<Self>> {
        let Some(head) = page.body.strip_prefix(b"OpusHead") else { return Ok(None) };
        let &[version, n_channels, skip_low, skip_high, _, _, _, _, gain_low, gain_high, family, ref table @ ..] = head
        else {
            return Err(unsupported("the Ogg file cannot be decoded: the head of its Opus stream is cut off"));
        };
        if 15 < version {
            return Err(unsupported(format!("the Opus stream must have version 1, found {version}")));
        }
        if !(1..=MAX_CHANNELS).contains(&n_channels) {
            let message =
                format!("the Opus stream must have between 1 and {MAX_CHANNELS} channels, found {n_channels}");
            return Err(unsupported(message));
        }
        let mapping = match (family, table) {
            (0, _) => None,
            (1 | 255, [n_streams, n_coupled, places @ ..]) => {
                let places = places.get(..n_channels.into()).unwrap_or_default();
                Some(((*n_streams).into(), (*n_coupled).into(), places.to_vec()))
            }
            _ => {
                return Err(unsupported(format!(
                    "the channels of the Opus stream must be of family 0, 1 or 255, found {family}"
                )));
            }
        };
        // In decibels, with 8 bits after the point.
        let decibels = f32::from(i16::from_le_bytes([gain_low, gain_high])) / 256.0;
        Ok(Some(Self {
            n_channels: n_channels.into(),
            skipped: u16::from_le_bytes([skip_low, skip_high]).into(),
            gain: if decibels == 0.0 { 1.0 } else { 10f32.powf(decibels / 20.0) },
            mapping,
        }))
    }
}

/// A decoder of one stream, or of several in the same packets.
enum PacketDecoder {
    One(Box<OpusDecoder>),
    Many(OpusMultistreamDecoder),
}

/// A stream that is being read.
struct OpusStream {
    number: u32,
    n_channels: usize,
    gain: f32,
    decoder: PacketDecoder,
    packet: Vec<u8>,
    n_packets: u64,
    /// Samples of each channel that are still to be skipped.
    skipped: usize,
    /// The time of the end of what has been decoded, once a page has said it.
    time: Option<u64>,
    samples: Vec<f32>,
}

impl OpusStream {
    fn new(number: u32, head: &OpusHead) -> Result<Self> {
        let decoder = match &head.mapping {
            None => PacketDecoder::One(Box::new(OpusDecoder::new(RATE, head.n_channels).map_err(unreadable)?)),
            Some((n_streams, n_coupled, places)) => PacketDecoder::Many(
                OpusMultistreamDecoder::new(RATE, head.n_channels, *n_streams, *n_coupled, places)
                    .map_err(unreadable)?,
            ),
        };
        Ok(Self {
            number,
            n_channels: head.n_channels,
            gain: head.gain,
            decoder,
            packet: Vec::new(),
            n_packets: 0,
            skipped: head.skipped,
            time: None,
            samples: Vec::new(),
        })
    }

    /// Whether sound has come, after the two packets of the head.
    fn has_begun(&self) -> bool {
        1 < self.n_packets
    }

    fn push(&mut self, page: &Page<'_>, recording: &mut Recording) -> Result<()> {
        let mut packet = std::mem::take(&mut self.packet);
        page.packets(&mut packet, |packet| self.decode(packet))?;
        self.packet = packet;
        let n_decoded = self.samples.len() / self.n_channels;
        if n_decoded == 0 {
            return Ok(());
        }
        // A stream that was recorded from a broadcast does not begin at 0.
        let start = self.time.unwrap_or_else(|| page.time.unwrap_or(0).saturating_sub(n_decoded as u64));
        let end = start.saturating_add(n_decoded as u64);
        self.time = Some(end);
        // What the last page has beyond its time is padding.
        let padding = page.time.filter(|_| page.is_last()).map_or(0, |time| end.saturating_sub(time));
        let n_kept = n_decoded - usize::try_from(padding).map_or(n_decoded, |padding| padding.min(n_decoded));
        let n_skipped = self.skipped.min(n_kept);
        self.skipped -= n_skipped;
        let range = n_skipped * self.n_channels..n_kept * self.n_channels;
        if self.gain != 1.0 {
            self.samples.iter_mut().for_each(|sample| *sample *= self.gain);
        }
        recording.push(&self.samples[range])?;
        self.samples.clear();
        Ok(())
    }

    /// Decodes a packet, which is sound from the second one on: comments come before it.
    fn decode(&mut self, packet: &[u8]) -> Result<()> {
        self.n_packets += 1;
        if self.n_packets == 1 || packet.is_empty() {
            return Ok(());
        }
        let start = self.samples.len();
        self.samples.resize(start + OpusDecoder::MAX_FRAME_SIZE_48K * self.n_channels, 0.0);
        let samples = &mut self.samples[start..];
        let decoded = match &mut self.decoder {
            PacketDecoder::One(decoder) => decoder.decode_float(packet, samples, false),
            PacketDecoder::Many(decoder) => decoder.decode_float(packet, samples, false),
        };
        self.samples.truncate(start + decoded.map_err(unreadable)? * self.n_channels);
        Ok(())
    }
}

fn name_of_stream(packet: &[u8]) -> &'static str {
    for (start, name) in [
        (&b"\x01vorbis"[..], "Vorbis"),
        (b"Speex   ", "Speex"),
        (b"\x7fFLAC", "FLAC in Ogg"),
        (b"\x80theora", "Theora"),
    ] {
        if packet.starts_with(start) {
            return name;
        }
    }
    "an unknown stream"
}

fn unreadable(err: OpusError) -> SdkError {
    unsupported("the Opus stream cannot be decoded").caused_by(err)
}
