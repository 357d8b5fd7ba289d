/** The text without the characters at its end. A regular expression such as `/x+$/` takes quadratic time for this. */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
