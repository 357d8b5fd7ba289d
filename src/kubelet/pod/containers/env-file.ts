import type { MountedVolume } from "#kubelet/volumes/plugin.ts";

/** A file in a volume that variables come from. */
export interface EnvFileRef {
  readonly volumeName: string;
  readonly path: string;
}
/** By volume and path: a function that returns the value of a variable, or undefined. */
export type EnvFiles = ReadonlyMap<string, ReadonlyMap<string, (key: string) => string | undefined>>;
type ReadFile = (volume: MountedVolume, path: string) => Promise<string | undefined>;

/** For all files together: no program can be started with more. */
const maxCharacters = 1 << 20;

/** Reads and parses each file once, one after another, however many variables use it. */
export async function readEnvFiles(
  refs: readonly EnvFileRef[],
  volumes: ReadonlyMap<string, MountedVolume>,
  read: ReadFile,
): Promise<EnvFiles> {
  const files = new Map<string, Map<string, (key: string) => string | undefined>>();
  let left = maxCharacters;
  for (const { volumeName, path } of refs) {
    const ofVolume = files.get(volumeName) ?? new Map<string, (key: string) => string | undefined>();
    files.set(volumeName, ofVolume);
    if (ofVolume.has(path)) continue;
    const volume = volumes.get(volumeName);
    if (!volume) throw new Error(`cannot find the volume "${volumeName}" referenced by FileKeyRef`);
    const text = (await read(volume, path)) ?? "";
    left -= text.length;
    if (left < 0) throw new Error(`env files are longer than ${maxCharacters} characters`);
    const parsed = parseEnvFile(text);
    ofVolume.set(path, (key) => variableIn(parsed, key));
  }
  return files;
}

/** The variables of an env file, up to the first malformed line. */
interface EnvFile {
  readonly variables: ReadonlyMap<string, string>;
  /** The error after them, if any. */
  readonly fault: Error | undefined;
}

/**
 * Parses lines of `NAME='value'`. A value may have several lines and has no escapes. The first of two variables with the
 * same name wins. It takes linear time, because a container wrote the text.
 */
export function parseEnvFile(text: string): EnvFile {
  const variables = new Map<string, string>();
  try {
    for (const { name, value } of assignmentsIn(text)) if (!variables.has(name)) variables.set(name, value);
    return { variables, fault: undefined };
  } catch (error) {
    if (error instanceof EnvFileError) return { variables, fault: error };
    throw error;
  }
}

/** The value of one variable, or undefined. Throws if the file has an error before the place where it could be. */
export function variableIn({ variables, fault }: EnvFile, key: string): string | undefined {
  const value = variables.get(key);
  if (value === undefined && fault) throw fault;
  return value || undefined;
}

class EnvFileError extends Error {
  override readonly name = "EnvFileError";
}

function* assignmentsIn(text: string): Iterable<{ name: string; value: string }> {
  const at: Position = { text, offset: 0, line: 1 };
  while (at.offset < text.length) {
    const first = at.line;
    const line = takeLine(at).trimStart();
    if (line === "" || line.startsWith("#")) continue;
    const { name, rest } = splitAssignment(line, first);
    // As in a shell, whitespace ends the assignment.
    const isBlank = rest.startsWith(" ") || rest.startsWith("\t");
    yield { name, value: isBlank ? "" : readQuoted(at, rest, first) };
  }
}

interface Position {
  readonly text: string;
  offset: number;
  line: number;
}

/** The rest of the line, without the newline. */
function takeLine(at: Position): string {
  const end = at.text.indexOf("\n", at.offset);
  const line = at.text.slice(at.offset, end < 0 ? undefined : end);
  at.offset = end < 0 ? at.text.length : end + 1;
  at.line++;
  return line;
}

function splitAssignment(line: string, number: number): { name: string; rest: string } {
  const equals = line.indexOf("=");
  if (equals < 0) throw malformed(number, "missing '='");
  const name = line.slice(0, equals);
  if (name.trimEnd() === "") throw malformed(number, "empty variable name");
  if (name.trimEnd() !== name) throw malformed(number, "whitespace before '=' is not allowed");
  return { name, rest: line.slice(equals + 1) };
}

/** Reads from the opening quote to the closing one, which may be on a later line. */
function readQuoted(at: Position, rest: string, first: number): string {
  if (!rest.startsWith("'")) throw malformed(first, "value must be enclosed in single quotes");
  const parts = [rest.slice(1)];
  for (let last = parts[0] ?? ""; !last.includes("'"); ) {
    if (at.offset >= at.text.length) throw malformed(first, "unclosed single quote");
    last = takeLine(at);
    parts.push(last);
  }
  const value = parts.join("\n");
  const end = value.indexOf("'");
  const after = value.slice(end + 1).trim();
  if (after !== "" && !after.startsWith("#")) throw malformed(at.line - 1, "unexpected content after closing quote");
  return value.slice(0, end);
}

const malformed = (line: number, why: string): Error =>
  new EnvFileError(`invalid environment variable format at line ${line}: ${why}`);
