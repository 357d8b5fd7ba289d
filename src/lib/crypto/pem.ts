/** One block of a PEM text. */
export interface PemBlock {
  /** What it holds, such as `CERTIFICATE`. */
  readonly label: string;
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

/** Longer texts are not read: a certificate or a chain of them has a few thousand bytes. */
export const maxPemBytes = 64 << 10;

/**
 * The blocks of a PEM text, in order. Everything outside of a whole block is skipped, as Go does, so that all readers of a
 * text see the same bytes. Takes time in proportion to the length of the text.
 */
export function readPem(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  let open: OpenBlock | undefined;
  for (const raw of text.split("\n")) {
    const line = raw.trimEnd();
    const edge = edgeOf(line);
    if (edge?.begins) open = { label: edge.label, hasHeaders: false, body: [] };
    else if (edge) {
      const bytes = open?.label === edge.label ? decodeBase64(open.body.join("")) : undefined;
      if (open && bytes) blocks.push({ label: open.label, hasHeaders: open.hasHeaders, bytes });
      open = undefined;
    } else if (open && open.body.length === 0 && line.includes(":")) open.hasHeaders = true;
    else if (line) open?.body.push(line.trim());
  }
  return blocks;
}

interface OpenBlock {
  readonly label: string;
  hasHeaders: boolean;
  readonly body: string[];
}

const dashes = "-----";

/** The first or last line of a block. */
function edgeOf(line: string): { begins: boolean; label: string } | undefined {
  if (!line.startsWith(dashes) || !line.endsWith(dashes)) return undefined;
  const text = line.slice(dashes.length, -dashes.length);
  if (text.startsWith("BEGIN ")) return { begins: true, label: text.slice("BEGIN ".length) };
  return text.startsWith("END ") ? { begins: false, label: text.slice("END ".length) } : undefined;
}

/** Node skips what is not base64; a block with such characters is not a block. */
const decodeBase64 = (text: string): Buffer | undefined =>
  text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, "base64") : undefined;
