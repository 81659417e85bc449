import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 20;

/**
 * What a client waits before it asks again for what nobody tells it. Without it, clients take the CPU from the processes that they wait
 * for.
 */
export function pause(): Promise<void> {
  return sleep(PAUSE_MS);
}
