/**
 * The text with `?` for what could steer a terminal or disguise a line: control characters, and those that change the direction of
 * writing. Logs and messages of pods may contain them. Line ends and tabs stay.
 */
export const printable = (text: string): string =>
  text.replaceAll(/(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "?");
