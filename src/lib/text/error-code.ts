/** The code of a system error, such as `ENOENT`; undefined for any other error. */
export const errorCode = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** The file does not exist, or no longer exists. */
export const isGone = (error: unknown): boolean => errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";

/** Whether the error, or one that caused it, has the code. */
export function hasCode(error: unknown, code: string): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (errorCode(cause) === code) return true;
  return false;
}
