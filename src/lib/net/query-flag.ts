/** Parses a boolean query parameter like upstream: everything but `false` and `0` is true, also an empty value. */
export const isTrue = (value: string | null): boolean =>
  value !== null && value !== "0" && value.toLowerCase() !== "false";

export const isSet = (query: URLSearchParams, name: string): boolean => isTrue(query.get(name));
