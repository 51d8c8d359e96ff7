// Replies as Markdown. What a model writes is not trusted: its HTML is shown as text, its images become links, and the
// sanitiser lets only these elements and attributes through.
const ALLOWED = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "strong", "table",
    "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["align", "class", "href", "start", "title"],
  ADD_URI_SAFE_ATTR: ["align", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

const escaped = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

marked.use({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    // The page and its replies have the first two levels.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});

/** Shows Markdown that grows. Blocks that did not change stay as they are, and so does what is selected in them. */
class MarkdownView {
  constructor(parent) {
    this.parent = parent;
    this.blocks = [];
  }

  show(text) {
    try {
      if (!this.isPlain) return this.render(text);
    } catch {
      this.isPlain = true; // nested deeper than the renderer can follow
    }
    this.parent.replaceChildren(make("pre", {}, text));
  }

  render(text) {
    const tokens = marked.lexer(text);
    let same = 0;
    while (same < tokens.length && this.blocks[same]?.raw === tokens[same].raw) same += 1;
    for (const block of this.blocks.splice(same)) for (const node of block.nodes) node.remove();
    for (const token of tokens.slice(same)) {
      const fragment = DOMPurify.sanitize(marked.parser([token]), ALLOWED);
      for (const link of fragment.querySelectorAll("a")) {
        link.target = "_blank";
        link.rel = "noopener noreferrer nofollow";
      }
      for (const table of fragment.querySelectorAll("table")) {
        const scroller = make("div", { className: "table", tabIndex: 0, role: "region", ariaLabel: "Table" });
        table.replaceWith(scroller);
        scroller.append(table);
      }
      for (const pre of fragment.querySelectorAll("pre")) pre.replaceWith(codeBlock(pre));
      const nodes = [...fragment.childNodes];
      this.parent.append(...nodes);
      this.blocks.push({ raw: token.raw, nodes });
    }
  }
}

function codeBlock(pre) {
  const language = /language-(\S+)/.exec(pre.firstElementChild?.className ?? "")?.[1] ?? "";
  const code = pre.textContent.replace(/\n$/, "");
  const button = iconButton("copy", "Copy code", () => copy(code, button));
  const shown = make("code", {});
  shown.append(...highlighted(code, language));
  return make(
    "div",
    { className: "code" },
    make("div", { className: "code-header" }, make("span", {}, language || "text"), button),
    make("pre", { tabIndex: 0, role: "region", ariaLabel: language ? `Code in ${language}` : "Code" }, shown),
  );
}

// One set of words and forms for all common languages: enough to find one's way in code by colour.
const KEYWORDS =
  "abstract and as async await break case catch class const continue def default defer del delete do elif else enum except " +
  "export extends false False final finally fn for from func function global go if impl implements import in include " +
  "interface is lambda let loop match mod module move mut namespace new nil None nonlocal not null object of operator or " +
  "override package pass private protected pub public raise ref return select self Self static struct super suspend switch " +
  "template this throw throws trait true True try type typedef typeof union unsafe use using val var void when where while " +
  "with yield SELECT FROM WHERE AND OR NOT NULL INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE JOIN LEFT ON GROUP BY " +
  "ORDER LIMIT AS echo then fi done esac";
const HASH_COMMENTS = /^(bash|console|dockerfile|ini|make|makefile|perl|py|python|r|rb|ruby|sh|shell|toml|yaml|yml|zsh)$/i;
const PLAIN = /^(|text|txt|plain|plaintext|md|markdown|diff)$/i;

/** The code as text and coloured parts. */
function* highlighted(code, language) {
  if (PLAIN.test(language)) return yield code;
  const line = HASH_COMMENTS.test(language) ? "#" : /^sql$|^lua$/i.test(language) ? "--" : "\\/\\/";
  const parts = new RegExp(
    `(?<comment>${line}.*|\\/\\*[^]*?(?:\\*\\/|$)|<!--[^]*?(?:-->|$))` +
      "|(?<string>\"\"\"[^]*?(?:\"\"\"|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'|`(?:\\\\.|[^`\\\\])*`?)" +
      "|(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_]\\w*)",
    "g",
  );
  const keywords = new Set(KEYWORDS.split(" "));
  let at = 0;
  for (const { 0: text, index, groups } of code.matchAll(parts)) {
    let kind = Object.keys(groups).find((name) => groups[name] !== undefined);
    if (kind === "word") kind = keywords.has(text) ? "keyword" : code[index + text.length] === "(" ? "call" : "";
    if (!kind) continue;
    yield code.slice(at, index);
    yield make("span", { className: `code-${kind}` }, text);
    at = index + text.length;
  }
  yield code.slice(at);
}
