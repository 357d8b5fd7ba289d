/** The parts of a URL, as Go tells them apart. */
export interface GoUrl {
  readonly scheme: string;
  /** With the port, if there is one. */
  readonly host: string;
  /** Name and password as they were written; undefined without an `@`. */
  readonly user: string | undefined;
  readonly query: string;
  readonly fragment: string;
}

/**
 * Splits a URL as Go's `url.Parse` does, which accepts and refuses other texts than `URL`. A fault is in Go's words. The
 * result is for checks and messages: a URL to call is built from checked parts.
 */
export function parseGoUrl(text: string): GoUrl | { fault: string } {
  const [whole, fragment] = cut(text, "#");
  try {
    return { ...parseParts(whole), fragment: unescaped(fragment) };
  } catch (error) {
    if (error instanceof UrlFault) return { fault: `parse ${JSON.stringify(whole)}: ${error.message}` };
    throw error;
  }
}

class UrlFault extends Error {}

function parseParts(text: string): Omit<GoUrl, "fragment"> {
  if (hasControlCharacter(text)) throw new UrlFault("net/url: invalid control character in URL");
  const [scheme, afterScheme] = splitScheme(text);
  const [rest, query] = cut(afterScheme, "?");
  const nothing = { scheme, host: "", user: undefined, query };
  if (!rest.startsWith("/")) {
    if (scheme) return nothing;
    if (cut(rest, "/")[0].includes(":")) throw new UrlFault("first path segment in URL cannot contain colon");
  }
  if (!rest.startsWith("//") || (!scheme && rest.startsWith("///"))) {
    refuseBadEscapes(rest);
    return nothing;
  }
  const slash = rest.indexOf("/", 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  checkHost(host);
  const user = at < 0 ? undefined : authority.slice(0, at);
  if (user !== undefined) checkUser(user);
  if (slash >= 0) refuseBadEscapes(rest.slice(slash));
  return { scheme, host, user, query };
}

/** Before and after the first separator. */
function cut(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function splitScheme(text: string): [scheme: string, rest: string] {
  if (text.startsWith(":")) throw new UrlFault("missing protocol scheme");
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1];
  return scheme === undefined ? ["", text] : [scheme.toLowerCase(), text.slice(scheme.length + 1)];
}

function checkHost(host: string): void {
  const bracket = host.lastIndexOf("]");
  if (host.startsWith("[") && bracket < 0) throw new UrlFault("missing ']' in host");
  const colon = host.lastIndexOf(":");
  const port = host.startsWith("[") ? host.slice(bracket + 1) : colon < 0 ? "" : host.slice(colon);
  if (!/^(:[0-9]*)?$/.test(port)) throw new UrlFault(`invalid port ${JSON.stringify(port)} after host`);
  refuseBadEscapes(host);
  // A host may only escape what is not ASCII, and the % of a zone.
  const escaped = /%(?!25)[0-7][0-9a-f]/i.exec(host)?.[0];
  if (escaped !== undefined) throw new UrlFault(`invalid URL escape ${JSON.stringify(escaped)}`);
  const bad = /[^\w.~!$&'()*+,;=:[\]<>"%\u0080-\uffff-]/.exec(host)?.[0];
  if (bad !== undefined) throw new UrlFault(`invalid character ${JSON.stringify(bad)} in host name`);
}

function checkUser(user: string): void {
  if (!/^[\w.:~!$&'()*+,;=%@-]*$/.test(user)) throw new UrlFault("net/url: invalid userinfo");
  refuseBadEscapes(user);
}

function refuseBadEscapes(text: string): void {
  const at = text.search(/%(?![0-9a-f]{2})/i);
  if (at >= 0) throw new UrlFault(`invalid URL escape ${JSON.stringify(text.slice(at, at + 3))}`);
}

function unescaped(text: string): string {
  refuseBadEscapes(text);
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // The bytes are no text, so they are shown as they were written.
  }
}
