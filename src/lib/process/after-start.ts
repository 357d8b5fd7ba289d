const acts: (() => void)[] = [];

/** Does something once, when this process is idle after its start. A process that ends before does not do it. */
export function afterStart(act: () => void): void {
  acts.push(act);
}

export function runAfterStart(): void {
  for (const act of acts.splice(0)) {
    try {
      act();
    } catch {
      // It would have made later starts quicker. That is no reason to end this process.
    }
  }
}
