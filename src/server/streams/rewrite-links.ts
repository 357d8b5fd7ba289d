/** Where a page comes from, and its address through the proxy. */
export interface LinkRewrite {
  /** The path of the proxy, without a trailing slash. */
  readonly prefix: string;
  /** The host and port of the page's server. */
  readonly backendHost: string;
  /** The host of the client's request. */
  readonly requestHost: string;
}

const urlParts = /^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s;

/** A link to the same server becomes a link through the proxy; others stay unchanged. */
export function rewriteLink(link: string, { prefix, backendHost, requestHost }: LinkRewrite): string {
  const [, host = "", path = "", rest = ""] = urlParts.exec(link) ?? [];
  if ((host && host !== backendHost && host !== requestHost) || !path.startsWith("/")) return link;
  const start = host && host === requestHost ? link.slice(0, link.length - path.length - rest.length) : "";
  if (path.startsWith(prefix)) return start + path + rest;
  return start + prefix + path + rest;
}

/** The attributes that hold links, by element. */
const linkAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

const tagStart = /<(?:!--|([a-zA-Z][a-zA-Z0-9]*))/g;
const attribute = /[\s/]*([^\s=>"'/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?/y;

/** How much of a page is processed in one step. */
const pieceLength = 16 << 10;

/** The page with its links rewritten, in pieces; everything else is unchanged. */
export function* rewritePieces(html: string, rewrite: LinkRewrite): Generator<string, void> {
  let piece = "";
  let copied = 0;
  let pieceStart = 0;
  for (const { at, link } of scanTags(html)) {
    if (link) {
      piece += html.slice(copied, link.start) + rewriteLink(link.value, rewrite);
      copied = link.start + link.value.length;
    }
    if (at - pieceStart < pieceLength) continue;
    yield piece;
    piece = "";
    pieceStart = at;
  }
  yield piece + html.slice(copied);
}

interface Step {
  /** The position in the page. */
  readonly at: number;
  readonly link?: { readonly start: number; readonly value: string };
}

/** Yields a step for each tag and each attribute. */
function* scanTags(html: string): Generator<Step, void> {
  // New expressions, because several pages may be read concurrently.
  const [tags, attributes] = [new RegExp(tagStart), new RegExp(attribute)];
  for (let tag = tags.exec(html); tag; tag = tags.exec(html)) {
    yield { at: tags.lastIndex };
    const element = tag[1]?.toLowerCase();
    if (!element) {
      const end = html.indexOf("-->", tags.lastIndex);
      if (end < 0) return;
      tags.lastIndex = end;
      continue;
    }
    attributes.lastIndex = tags.lastIndex;
    for (let found = attributes.exec(html); found; found = attributes.exec(html)) {
      tags.lastIndex = attributes.lastIndex;
      yield { at: attributes.lastIndex, ...linkOf(element, found, attributes.lastIndex) };
    }
  }
}

/** The value of an attribute that ends at `end`, if it is a link. */
function linkOf(element: string, found: RegExpExecArray, end: number): Pick<Step, "link"> {
  const value = found[2] ?? found[3] ?? found[4];
  const name = found[1]?.toLowerCase() ?? "";
  if (value === undefined || !Object.hasOwn(linkAttributes, element)) return {};
  if (!linkAttributes[element]?.includes(name)) return {};
  const quote = found[4] === undefined ? 1 : 0;
  return { link: { start: end - quote - value.length, value } };
}
