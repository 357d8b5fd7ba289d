import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { ClaimToPrepare, PreparedDevice } from "./dra-calls.ts";

/** A claim on this node, from before its drivers are told until they have undone it. */
export interface PreparedClaim extends ClaimToPrepare {
  /** Uids of the pods that use it. */
  readonly pods: readonly string[];
  /** Driver → its devices; undefined until it has answered. */
  readonly drivers: Readonly<Record<string, readonly PreparedDevice[] | null>>;
}

/** Which claims are prepared, in a file that survives a restart. */
export class PreparedClaims {
  readonly #file: string;
  readonly #claims: Map<string, PreparedClaim>;

  private constructor(file: string, claims: readonly PreparedClaim[]) {
    this.#file = file;
    this.#claims = new Map(claims.map((claim) => [claim.uid, claim]));
  }

  static async open(file: string): Promise<PreparedClaims> {
    await mkdir(dirname(file), { recursive: true, mode: 0o750 });
    return new PreparedClaims(file, await readClaims(file));
  }

  get(uid: string): PreparedClaim | undefined {
    return this.#claims.get(uid);
  }

  named(namespace: string, name: string): PreparedClaim | undefined {
    return this.#claims.values().find((claim) => claim.namespace === namespace && claim.name === name);
  }

  usedBy(pod: string): PreparedClaim[] {
    return [...this.#claims.values()].filter(({ pods }) => pods.includes(pod));
  }

  async put(claim: PreparedClaim): Promise<void> {
    this.#claims.set(claim.uid, claim);
    await this.#save();
  }

  async delete(uid: string): Promise<void> {
    if (this.#claims.delete(uid)) await this.#save();
  }

  async #save(): Promise<void> {
    await writeFile(`${this.#file}.draft`, JSON.stringify([...this.#claims.values()]));
    await rename(`${this.#file}.draft`, this.#file);
  }
}

/** A file that is missing, or that a full disk left truncated, is started anew. */
async function readClaims(file: string): Promise<readonly PreparedClaim[]> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return [];
  }
}
