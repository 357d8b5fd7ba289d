/** One line of a container's log file: `2026-01-31T12:00:00.123456789Z stdout F text`. */
export interface LogLine {
  /** As written, with nanoseconds. */
  readonly time: string;
  readonly stream: "stdout" | "stderr";
  /** Whether the container's line ends here instead of continuing in the next entry. */
  readonly isFull: boolean;
  readonly content: Buffer;
}

const space = 0x20;

/** Parses a line; undefined if it is malformed, such as at the end of a file that a crash cut off. */
export function parseLogLine(line: Buffer): LogLine | undefined {
  const afterTime = line.indexOf(space);
  const afterStream = line.indexOf(space, afterTime + 1);
  const afterTags = line.indexOf(space, afterStream + 1);
  if (afterTime < 0 || afterStream < 0) return undefined;
  const end = afterTags < 0 ? line.length : afterTags;
  const stream = line.toString("latin1", afterTime + 1, afterStream);
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  // Tags are separated by colons; the first says whether the line is complete.
  const isFull = line.toString("latin1", afterStream + 1, end).split(":")[0] !== "P";
  return {
    time: line.toString("latin1", 0, afterTime),
    stream,
    isFull,
    content: afterTags < 0 ? line.subarray(line.length) : line.subarray(afterTags + 1),
  };
}
