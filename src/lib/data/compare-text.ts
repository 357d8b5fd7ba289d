/** Puts texts in the order of their code units, for sort(). */
export const compareText = (a = "", b = ""): number => (a < b ? -1 : a > b ? 1 : 0);
