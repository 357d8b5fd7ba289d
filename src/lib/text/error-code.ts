/** The code of a system error, such as `ENOENT`; undefined for any other error. */
export const errorCode = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** The file is not there, or not any more. */
export const isGone = (error: unknown): boolean => errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";
