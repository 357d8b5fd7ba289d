const verbs = new Map([
  ["POST", "create"],
  ["GET", "get"],
  ["HEAD", "get"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** What a method does to one thing; lists, watches and deletions of many are told by the rest of the request. */
export const verbOfMethod = (method: string): string | undefined => verbs.get(method);
