const verbs = new Map([
  ["POST", "create"],
  ["GET", "get"],
  ["HEAD", "get"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** The verb of a method for one object. The rest of the request tells list, watch and deletecollection. */
export const verbOfMethod = (method: string): string | undefined => verbs.get(method);
