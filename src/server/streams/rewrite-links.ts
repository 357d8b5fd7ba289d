/** Where a page came from, and where it can be had through the proxy. */
export interface LinkRewrite {
  /** Path of the proxy, with no slash at the end. */
  readonly prefix: string;
  /** Host and port that the page was got from. */
  readonly backendHost: string;
  /** Host that the client asked. */
  readonly requestHost: string;
}

const urlParts = /^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s;

/** A link that leads to the same server leads through the proxy then; others stay as they are. */
export function rewriteLink(link: string, { prefix, backendHost, requestHost }: LinkRewrite): string {
  const [, host = "", path = "", rest = ""] = urlParts.exec(link) ?? [];
  if ((host && host !== backendHost && host !== requestHost) || !path.startsWith("/")) return link;
  const start = host && host === requestHost ? link.slice(0, link.length - path.length - rest.length) : "";
  if (path.startsWith(prefix)) return start + path + rest;
  return start + prefix + path + rest;
}

/** By element, the attributes that hold links. */
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

/** The page with its links rewritten; all else is left as it is. */
export function rewritePage(html: string, rewrite: LinkRewrite): string {
  let result = "";
  let copied = 0;
  tagStart.lastIndex = 0;
  for (let tag = tagStart.exec(html); tag; tag = tagStart.exec(html)) {
    const element = tag[1]?.toLowerCase();
    if (!element) {
      const end = html.indexOf("-->", tagStart.lastIndex);
      if (end < 0) break;
      tagStart.lastIndex = end;
      continue;
    }
    attribute.lastIndex = tagStart.lastIndex;
    for (let found = attribute.exec(html); found; found = attribute.exec(html)) {
      tagStart.lastIndex = attribute.lastIndex;
      const value = found[2] ?? found[3] ?? found[4];
      if (value === undefined || !linkAttributes[element]?.includes(found[1]?.toLowerCase() ?? "")) continue;
      const quote = found[4] === undefined ? 1 : 0;
      const start = attribute.lastIndex - quote - value.length;
      result += html.slice(copied, start) + rewriteLink(value, rewrite);
      copied = start + value.length;
    }
  }
  return result + html.slice(copied);
}
