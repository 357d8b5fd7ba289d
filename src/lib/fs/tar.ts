/** One entry of an archive. */
export type TarEntry =
  | { readonly path: string; readonly type?: "file"; readonly content: Uint8Array; readonly mode?: number }
  | { readonly path: string; readonly type: "directory"; readonly mode?: number }
  | { readonly path: string; readonly type: "symlink"; readonly target: string };

/** A POSIX tar archive. The same entries always result in the same bytes: owner root, time 0. */
export function tar(entries: readonly TarEntry[]): Uint8Array<ArrayBuffer> {
  const blocks: Uint8Array[] = [];
  for (const entry of entries) {
    const content = entry.type === "directory" || entry.type === "symlink" ? empty : entry.content;
    if (needsPax(entry)) blocks.push(...paxHeader(entry));
    blocks.push(header(entry, content.length), content, new Uint8Array(padding(content.length)));
  }
  blocks.push(new Uint8Array(2 * blockSize));
  return new Uint8Array(Buffer.concat(blocks));
}

const blockSize = 512;
const empty = new Uint8Array(0);
const padding = (length: number): number => (blockSize - (length % blockSize)) % blockSize;
const targetOf = (entry: TarEntry): string => (entry.type === "symlink" ? entry.target : "");
const needsPax = (entry: TarEntry): boolean =>
  Buffer.byteLength(pathOf(entry)) > 100 || Buffer.byteLength(targetOf(entry)) > 100;
const pathOf = (entry: TarEntry): string =>
  entry.type === "directory" && !entry.path.endsWith("/") ? `${entry.path}/` : entry.path;

function header(entry: TarEntry, size: number): Uint8Array {
  const flag = entry.type === "directory" ? "5" : entry.type === "symlink" ? "2" : "0";
  const mode = entry.type === "symlink" ? 0o777 : (entry.mode ?? (entry.type === "directory" ? 0o755 : 0o644));
  return rawHeader({ path: pathOf(entry), mode, size, flag, target: targetOf(entry) });
}

interface RawHeader {
  readonly path: string;
  readonly mode: number;
  readonly size: number;
  readonly flag: string;
  readonly target: string;
}

function rawHeader({ path, mode, size, flag, target }: RawHeader): Uint8Array {
  const block = Buffer.alloc(blockSize);
  block.write(path, 0, 100);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write("        ", 148);
  block.write(flag, 156);
  block.write(target, 157, 100);
  block.write("ustar\x0000", 257);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");

/** An extra entry before the real one, for names that do not fit in its header. */
function paxHeader(entry: TarEntry): Uint8Array[] {
  const records = [paxRecord("path", pathOf(entry))];
  if (entry.type === "symlink") records.push(paxRecord("linkpath", entry.target));
  const content = Buffer.concat(records);
  const head = rawHeader({ path: "PaxHeaders/entry", mode: 0o644, size: content.length, flag: "x", target: "" });
  return [head, content, new Uint8Array(padding(content.length))];
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  const body = Buffer.byteLength(rest);
  let length = body + String(body).length;
  if (body + String(length).length !== length) length++;
  return Buffer.from(`${length}${rest}`);
}
