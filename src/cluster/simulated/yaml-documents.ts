import { messageOf } from "#lib/text/message-of.ts";
import { parseYaml } from "#lib/yaml/yaml.ts";

export interface YamlDocument {
  readonly value: unknown;
  readonly where: string;
}

/** The documents of a YAML text that say something. */
export async function documentsIn(text: string): Promise<readonly YamlDocument[]> {
  const parts = text.split(/^---(?=\s|$)/m).filter((part) => /^\s*[^#\s]/m.test(part));
  return await Promise.all(
    parts.map(async (part, index) => {
      const where = `document ${index + 1}`;
      try {
        const { value, duplicates } = await parseYaml(part);
        if (duplicates[0] !== undefined) throw new Error(duplicates[0]);
        return { value, where };
      } catch (error) {
        throw new Error(`${where}: ${messageOf(error)}`, { cause: error });
      }
    }),
  );
}
