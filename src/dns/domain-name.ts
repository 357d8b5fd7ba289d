export const maxNameBytes = 255;
export const maxLabelBytes = 63;

/** The labels of a name, unescaped. */
export function labelsOf(name: string): string[] {
  if (name === "") return [];
  if (!name.includes("\\")) return name.split(".");
  const labels = [""];
  for (let at = 0; at < name.length; at++) {
    const char = name[at] ?? "";
    if (char === ".") labels.push("");
    else labels[labels.length - 1] += char === "\\" ? (name[++at] ?? "") : char;
  }
  return labels;
}

/** A label, escaped for use in a name. */
export const escapeLabel = (label: string): string => (/[.\\]/.test(label) ? label.replace(/[.\\]/g, "\\$&") : label);
