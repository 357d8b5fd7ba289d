import { readFile } from "node:fs/promises";
import { type UserInfo } from "#api/exchange.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type TokenAuthenticator } from "./bearer.ts";

/** Static tokens from a file with lines of the form `token,user,uid,"group1,group2"`. */
export async function loadTokenFile(path: string): Promise<TokenAuthenticator> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const why = messageOf(cause);
    throw new TokenFileError(
      `cannot read the token file ${path} (${why}): check --token-auth-file and that this user may read it`,
      { cause },
    );
  }
  return tokenFile(parseTokenFile(text, path));
}

export function tokenFile(tokens: ReadonlyMap<string, UserInfo>): TokenAuthenticator {
  const identities = new Map([...tokens].map(([token, user]) => [token, { user }]));
  return {
    name: "token-file",
    authenticateToken: (token) => (token.length > maxKeyChars ? undefined : identities.get(token)),
  };
}

/** Reads the whole file or refuses it: a partial list of users would be worse than none. */
export function parseTokenFile(text: string, path: string): Map<string, UserInfo> {
  const users = new Map<string, UserInfo>();
  for (const { line, fields } of parseCsv(text, path)) {
    const [token, name, uid, groups] = fields;
    if (uid === undefined || name === undefined) {
      throw new TokenFileError(
        `${path}:${line}: must have at least 3 columns (token, user name, user uid), found ${fields.length}`,
      );
    }
    if (!token) throw new TokenFileError(`${path}:${line}: the token is empty`);
    if (!name) throw new TokenFileError(`${path}:${line}: the user name is empty`);
    if (users.has(token)) throw new TokenFileError(`${path}:${line}: the token is also in an earlier line`);
    users.set(token, { name, ...(uid ? { uid } : {}), groups: groups ? groups.split(",") : [] });
  }
  return users;
}

/** Names the file and line of the fault; never quotes a token. */
export class TokenFileError extends Error {
  override readonly name = "TokenFileError";
}

interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** Fields may be quoted, with a quote inside written twice. Blank lines and lines that start with # are skipped. */
function* parseCsv(text: string, path: string): Iterable<CsvRecord> {
  let line = 0;
  for (const row of text.split(/\r?\n/)) {
    line++;
    if (row.trim() === "" || row.startsWith("#")) continue;
    const fields: string[] = [];
    const field = /\s*(?:"((?:[^"]|"")*)"\s*|([^",]*))(,|$)/y;
    for (let at = 0; at <= row.length; at = field.lastIndex) {
      field.lastIndex = at;
      const found = field.exec(row);
      if (!found) throw new TokenFileError(`${path}:${line}: a quote is not closed or is in the middle of a field`);
      fields.push(found[1]?.replaceAll('""', '"') ?? found[2]?.trim() ?? "");
      if (found[3] === "") break;
    }
    yield { line, fields };
  }
}
