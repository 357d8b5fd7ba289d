/** Our keys, and what they are called in etcd: `/registry/pods/…` is `<prefix>/pods/…` there. */
export class Keys {
  readonly #ours: string;
  /** Everything of ours in etcd starts with this. */
  readonly root: string;
  readonly #theirs: string;

  /** `ours` is how all keys start here, and `theirs` is what stands there in etcd. */
  constructor({ ours, theirs }: { readonly ours: string; readonly theirs: string }) {
    this.#ours = ours;
    this.#theirs = theirs;
    this.root = `${theirs}/`;
  }

  toEtcd(key: string): string {
    if (!key.startsWith(`${this.#ours}/`)) throw new Error(`not a key of this store: ${key}`);
    return this.#theirs + key.slice(this.#ours.length);
  }

  /** undefined for keys of other programs. */
  fromEtcd(key: string): string | undefined {
    return key.startsWith(this.root) ? this.#ours + key.slice(this.#theirs.length) : undefined;
  }
}
