/**
 * Keeps one thing that others refer to weakly from being collected for a while: long enough for those who ask for it at
 * the same time, and no memory is held once nobody does. The next thing takes its place.
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
