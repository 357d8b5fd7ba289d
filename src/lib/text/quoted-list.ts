/** A list in the form in which Go prints quoted strings: `["a" "b"]`. */
export const quotedList = (list: readonly string[]): string =>
  `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;
