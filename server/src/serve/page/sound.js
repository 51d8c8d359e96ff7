// Sound: recordings for the next message, and replies that are spoken.

// What models hear, and how long a recording lasts at most, in seconds: a browser keeps some megabytes of conversations.
const HEARD_RATE = 16_000;
const MAX_RECORDING = 120;
const SPOKEN_RATE = 24_000;

/** Sends the samples of the microphone to the page, in a thread of the browser's own. */
const RECORDER = `registerProcessor("recorder", class extends AudioWorkletProcessor {
  process([[samples]]) {
    if (samples) this.port.postMessage(samples.slice());
    return true;
  }
});`;

/** The recordings of the next message, as data URLs of WAV files. */
let recordings = [];
/** What ends the recording under way. */
let recording = null;

/** The samples of a microphone from now until `stop` is called. */
async function startRecording() {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const context = new AudioContext();
  const code = URL.createObjectURL(new Blob([RECORDER], { type: "text/javascript" }));
  const end = () => (stream.getTracks().forEach((track) => track.stop()), context.close());
  try {
    await context.audioWorklet.addModule(code);
  } catch (err) {
    end();
    throw err;
  } finally {
    URL.revokeObjectURL(code);
  }
  const pieces = [];
  const recorder = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
  recorder.port.onmessage = ({ data }) => pieces.push(data);
  context.createMediaStreamSource(stream).connect(recorder);
  const stop = async () => {
    end();
    return { samples: joined(pieces), rate: context.sampleRate };
  };
  return { pieces, stop };
}

function joined(pieces) {
  const samples = new Float32Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    samples.set(piece, at);
    at += piece.length;
  }
  return samples;
}

/** The samples at the rate that models hear. */
async function resampled({ samples, rate }) {
  const context = new OfflineAudioContext(1, Math.max(1, Math.round((samples.length * HEARD_RATE) / rate)), HEARD_RATE);
  play(context, samples, rate, 0);
  return (await context.startRendering()).getChannelData(0);
}

/** Plays samples from a time on; returns what plays them. */
function play(context, samples, rate, time) {
  const buffer = context.createBuffer(1, Math.max(1, samples.length), rate);
  buffer.copyToChannel(samples, 0);
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.start(time);
  return source;
}

/** A WAV file of one channel with 16 bits for each sample. */
function wavFile(samples, rate) {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, text) => [...text].forEach((letter, index) => view.setUint8(at + index, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * samples.length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, 2 * rate, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, index) => view.setInt16(44 + 2 * index, Math.max(-1, Math.min(1, sample)) * 32767, true));
  return new Blob([view], { type: "audio/wav" });
}

/** Begins a recording, or ends the one under way and adds it to the message. */
async function toggleRecording(changed) {
  const button = byId("record");
  if (!recording) {
    if (!navigator.mediaDevices) return remark("Browsers record only on this device and over HTTPS.");
    button.disabled = true;
    try {
      recording = await startRecording();
    } catch (err) {
      return remark(`The microphone cannot be used: ${err.message}`);
    } finally {
      button.disabled = false;
    }
    recording.limit = setTimeout(() => toggleRecording(changed), 1000 * MAX_RECORDING);
    showRecording(true);
    return;
  }
  const { stop, limit } = recording;
  recording = null;
  clearTimeout(limit);
  showRecording(false);
  const samples = await resampled(await stop());
  recordings.push(await dataUrl(wavFile(samples, HEARD_RATE)));
  drawRecordings(changed);
}

function showRecording(isRecording) {
  const button = byId("record");
  button.classList.toggle("recording", isRecording);
  button.ariaPressed = String(isRecording);
  button.title = isRecording ? "End the recording" : "Record";
  announce(isRecording ? "Recording." : "The recording has ended.");
}

function drawRecordings(changed) {
  const remove = (index) => (recordings.splice(index, 1), drawRecordings(changed), byId("message").focus());
  const items = recordings.map((src, index) =>
    make("li", {}, player(src, index), iconButton("close", `Remove recording ${index + 1}`, () => remove(index))));
  byId("recordings").replaceChildren(...items);
  changed();
}

const player = (src, index) => make("audio", { src, controls: true, ariaLabel: `Recording ${index + 1}` });

/** Takes the recordings, for the message that is sent. */
function takeRecordings(changed) {
  const taken = recordings;
  recordings = [];
  drawRecordings(changed);
  return taken;
}

/** Parts of chat completions with recordings. */
const soundParts = (sounds) =>
  sounds.map((url) => ({ type: "input_audio", input_audio: { data: url.slice(url.indexOf(",") + 1), format: "wav" } }));

/** The samples that were spoken, by reply: as long as the page is open. */
const spoken = new WeakMap();
/** What plays at present. */
let speaker = null;

/** Plays samples one after the other, as they come. */
class Speaker {
  constructor() {
    speaker?.stop();
    speaker = this;
    this.context = new AudioContext();
    /** When what was given ends. */
    this.next = 0;
  }

  play(samples) {
    if (this.context.state === "closed") return;
    const time = Math.max(this.next, this.context.currentTime);
    play(this.context, samples, SPOKEN_RATE, time);
    this.next = time + samples.length / SPOKEN_RATE;
  }

  stop() {
    if (this.context.state !== "closed") this.context.close();
  }
}

/** The samples of base64, with 16 bits each. */
function samplesOf(data) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length >> 1 }, (_, index) => view.getInt16(2 * index, true) / 32768);
}

/** Adds what a delta has of the sound of a reply, and plays it. */
function hear(message, { id, transcript, data, expires_at }) {
  if (id) message.audio = { id };
  if (expires_at) message.audio.expires_at = expires_at;
  if (transcript) message.content += transcript;
  if (!data) return;
  if (!spoken.has(message)) spoken.set(message, { pieces: [], speaker: new Speaker() });
  const sound = spoken.get(message);
  const samples = samplesOf(data);
  sound.pieces.push(samples);
  sound.speaker.play(samples);
}

/** The button that plays a reply again; none for a reply without sound. */
function playButton(message) {
  const sound = spoken.get(message);
  if (!sound) return [];
  return [iconButton("play", "Play reply", () => (sound.speaker = new Speaker()).play(joined(sound.pieces)))];
}

/** The sound of an earlier reply, as long as the server keeps it. */
const soundOf = ({ audio }) => (audio?.expires_at > Date.now() / 1000 ? { id: audio.id } : undefined);

function bindSound(changed) {
  byId("record").addEventListener("click", () => toggleRecording(changed));
}
