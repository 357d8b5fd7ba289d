/** As Go reads a boolean in a query: anything but `false` and `0` is true, also nothing behind the name. */
export function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value.toLowerCase() !== "false" && value !== "0";
}
