// Pictures for the next message: chosen, pasted or dropped.

// Larger files are made smaller: models see few pixels, and a browser keeps some megabytes of conversations.
const MAX_FILE = 400_000;
const MAX_SIDE = 1536;
const SENT_AS_THEY_ARE = ["image/jpeg", "image/png", "image/webp", "image/gif"];

/** The pictures of the next message, as data URLs. */
let pictures = [];

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

async function readPicture(file) {
  const bitmap = await createImageBitmap(file);
  if (file.size <= MAX_FILE && SENT_AS_THEY_ARE.includes(file.type)) return dataUrl(file);
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
  const canvas = make("canvas", { width, height });
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.drawImage(bitmap, 0, 0, width, height);
  return canvas.toDataURL("image/jpeg", 0.85);
}

/** Adds those files that are pictures. */
async function addPictures(files, changed) {
  const shown = [...files].filter(({ type }) => type.startsWith("image/"));
  if (!shown.length) return;
  if (!model.capabilities.vision) return remark("This model does not support pictures.");
  for (const file of shown) {
    try {
      pictures.push(await readPicture(file));
    } catch {
      remark(`${file.name} cannot be read as a picture.`);
    }
  }
  drawPictures(changed);
}

/** Takes the pictures, for the message that is sent. */
function takePictures(changed) {
  const taken = pictures;
  pictures = [];
  drawPictures(changed);
  return taken;
}

function drawPictures(changed) {
  const remove = (index) => (pictures.splice(index, 1), drawPictures(changed), byId("message").focus());
  const items = pictures.map((src, index) =>
    make("li", {}, make("img", { src, alt: `Picture ${index + 1}` }), iconButton("close", `Remove picture ${index + 1}`, () => remove(index))));
  byId("pictures").replaceChildren(...items);
  changed();
}

/** A message as chat completions have it: pictures and recordings come before the text. */
function contentOf({ content, images, sounds }) {
  if (!images?.length && !sounds?.length) return content;
  const parts = [...(images ?? []).map((url) => ({ type: "image_url", image_url: { url } })), ...soundParts(sounds ?? [])];
  return content ? [...parts, { type: "text", text: content }] : parts;
}

/** Lets a person choose, paste and drop pictures. */
function bindPictures(changed) {
  const input = byId("picture-file");
  byId("picture").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    addPictures(input.files, changed);
    input.value = "";
  });
  document.addEventListener("paste", ({ clipboardData }) => addPictures(clipboardData?.files ?? [], changed));
  document.addEventListener("dragover", (event) => event.dataTransfer.types.includes("Files") && event.preventDefault());
  document.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    addPictures(event.dataTransfer.files, changed);
  });
}
