import { nextTurn } from "#lib/async/turns.ts";

type Json = Readonly<Record<string, unknown>>;

/** Takes a few milliseconds to write. */
const turnChars = 256 * 1024;

/** JSON of a long document. Its parts, down to this depth, are written one by one, so that others get their turn. */
export async function jsonInTurns(document: Json, depth = 3): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let pending = "";
  const write = async (text: string): Promise<void> => {
    pending += text;
    if (pending.length < turnChars) return;
    chunks.push(Buffer.from(pending));
    pending = "";
    await nextTurn();
  };
  const visit = async (value: Json, left: number): Promise<void> => {
    let separator = "{";
    for (const [name, inner] of Object.entries(value)) {
      if (inner === undefined) continue;
      const head = `${separator}${JSON.stringify(name)}:`;
      separator = ",";
      if (left > 1 && isPlain(inner)) {
        pending += head;
        await visit(inner, left - 1);
      } else await write(head + JSON.stringify(inner));
    }
    await write(separator === "{" ? "{}" : "}");
  };
  await visit(document, depth);
  return Buffer.concat([...chunks, Buffer.from(pending)]);
}

const isPlain = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
