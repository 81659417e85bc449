/** Less than half of the time that pools keep an idle connection, ms. */
const SLOW_MS = 1000;

/**
 * Runs turns one after another, and gives how many connections a server has accepted for them, less one for each turn that took a second:
 * pools close what was idle for some seconds, by a clock that no test moves.
 */
export async function openedFor(
  server: { readonly connections: number },
  turns: readonly (() => Promise<unknown>)[],
): Promise<number> {
  const before = server.connections;
  let slow = 0;
  for (const turn of turns) {
    const begun = performance.now();
    await turn();
    if (performance.now() - begun >= SLOW_MS) slow += 1;
  }
  return server.connections - before - slow;
}
