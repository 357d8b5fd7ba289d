/** The machine's architecture by Go's name, as images and nodes use it. */
export const goArchitecture = (): string => (process.arch === "x64" ? "amd64" : process.arch);
