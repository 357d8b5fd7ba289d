/** A list as Go prints one of quoted strings: `["a" "b"]`. */
export const quotedList = (list: readonly string[]): string =>
  `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;
