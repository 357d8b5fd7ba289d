export type PullPolicy = "Always" | "IfNotPresent" | "Never";

const hostPart = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
const domain = String.raw`(?:${hostPart}(?:\.${hostPart})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`;
const path = String.raw`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`;
const reference = new RegExp(
  String.raw`^((?:${domain}/)?${path}(?:/${path})*)(?::(\w[\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$`,
);

const maxLength = 255;

export interface ImageName {
  readonly repository: string;
  /** `latest` if neither a tag nor a digest is given. */
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Splits an image reference into its parts; undefined if it is not valid. */
export function parseImageName(image: string): ImageName | undefined {
  const match = reference.exec(image);
  if (!match) return undefined;
  const [, repository = "", tag, digest] = match;
  if (repository.length > maxLength || /^[0-9a-f]{64}$/.test(repository)) return undefined;
  return { repository, tag: tag ?? (digest ? undefined : "latest"), digest };
}

/** An image that can change under its name is looked up every time. */
export const defaultPullPolicy = (image: string): PullPolicy =>
  parseImageName(image)?.tag === "latest" ? "Always" : "IfNotPresent";
