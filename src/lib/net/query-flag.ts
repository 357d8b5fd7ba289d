/** As upstream reads a boolean in a query: given without a value it is true, and so is all but `false` and `0`. */
export const isTrue = (value: string | null): boolean =>
  value !== null && value !== "0" && value.toLowerCase() !== "false";

export const isSet = (query: URLSearchParams, name: string): boolean => isTrue(query.get(name));
