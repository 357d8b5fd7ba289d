import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Semaphore } from "#lib/async/semaphore.ts";
import { replaceFile } from "#lib/fs/replace-file.ts";
import { isGone } from "#lib/text/error-code.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { ClaimToPrepare, PreparedDevice } from "./dra-calls.ts";

/** A claim on this node, from before its drivers are told until they have undone it. */
export interface PreparedClaim extends ClaimToPrepare {
  /** Uids of the pods that use it. */
  readonly pods: readonly string[];
  /** Driver → its devices; null until it has answered. */
  readonly drivers: Readonly<Record<string, readonly PreparedDevice[] | null>>;
}

/** Which claims are prepared, in a file that survives a restart. */
export class PreparedClaims {
  readonly #file: string;
  readonly #claims: Map<string, PreparedClaim>;
  readonly #saving = new Semaphore(1);

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
    await this.#saving.take(() => replaceFile(this.#file, JSON.stringify([...this.#claims.values()])));
  }
}

/** Without its content, drivers would never be asked to undo what they have done, so a file that cannot be read is an error. */
async function readClaims(file: string): Promise<readonly PreparedClaim[]> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as readonly PreparedClaim[];
  } catch (error) {
    if (isGone(error)) return [];
    throw new Error(`${file}: ${messageOf(error)}: restore the file, or delete it to forget all prepared claims`, {
      cause: error,
    });
  }
}
