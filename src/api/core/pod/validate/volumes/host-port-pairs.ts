/**
 * How many of the parts between commas are not a host and a port, such as 10.0.0.1:80 or [::1]:80. There may be a million
 * parts, so the text is read in place, once.
 */
export function countBadPairs(text: string): number {
  let bad = 0;
  let state: State = "start";
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char !== ",") state = next(state, char);
    else {
      if (state !== "port") bad++;
      state = "start";
    }
  }
  return state === "port" ? bad : bad + 1;
}

/** `bracket`: within the brackets of an IPv6 address. `closed`: after them. */
type State = "start" | "host" | "bracket" | "closed" | "port" | "bad";

function next(state: State, char: string): State {
  if (state === "bracket") return char === "]" ? "closed" : "bracket";
  if (char === "[") return state === "start" ? "bracket" : "bad";
  if (char === "]" || state === "bad") return "bad";
  if (char === ":") return state === "port" ? "bad" : "port";
  if (state === "closed") return "bad";
  return state === "port" ? "port" : "host";
}
