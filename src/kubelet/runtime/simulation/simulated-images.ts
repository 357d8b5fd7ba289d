import { createHash } from "node:crypto";
import type { Image } from "#kubelet/runtime/runtime.ts";

/** The images of a simulated node, which exist only by name. */
export class SimulatedImages {
  readonly #images = new Map<string, Image>();

  get all(): Image[] {
    return [...this.#images.values()];
  }

  /** Finds an image by id or by one of its names. */
  find(name: string): Image | undefined {
    const byId = this.#images.get(name);
    return byId ?? this.#images.values().find(({ tags, digests }) => tags.includes(name) || digests.includes(name));
  }

  add(image: Image): void {
    this.#images.set(image.id, image);
  }

  /** Returns the id of the new image. */
  addNamed(name: string): string {
    const digest = `sha256:${createHash("sha256").update(name).digest("hex")}`;
    const repository = name.replace(/(@.*|:[^/:]*)$/, "");
    const about = { tags: [name], digests: [`${repository}@${digest}`], sizeBytes: 1 << 20, username: "" };
    this.add({ id: digest, ...about, pinned: false });
    return digest;
  }

  remove(name: string): void {
    this.#images.delete(this.find(name)?.id ?? "");
  }
}
