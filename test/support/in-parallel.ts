/** Does something with every element, `width` of them at a time. Rejects with the first failure, when all have ended. */
export async function inParallel<Element>(
  elements: readonly Element[],
  width: number,
  work: (element: Element) => Promise<void>,
): Promise<void> {
  const left = elements.values();
  const workers = Array.from({ length: width }, async () => {
    for (const element of left) await work(element);
  });
  const outcomes = await Promise.allSettled(workers);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
