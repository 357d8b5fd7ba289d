/**
 * Keeps one weakly referenced value alive for a while, so that requests at about the same time share it, and its memory
 * is free again once nobody asks. The next value replaces it.
 */
export function createBriefHold(holdMs: number): (value: object) => void {
  const slot: { value?: object } = {};
  let timer: NodeJS.Timeout | undefined;
  return (value) => {
    slot.value = value;
    clearTimeout(timer);
    timer = setTimeout(() => delete slot.value, holdMs).unref();
  };
}
