import { setTimeout as sleep } from 'node:timers/promises';

import OpenAI from 'openai';

import type { SeededRandom } from '../../src/simulator/seeded-random.ts';
import type { Fleet } from './fleet.ts';

/** Longer than any outage; whoever is not served by then never will be. ms. */
export const LONGEST_OUTAGE_MS = 300_000;
/** What a client waits that is not told how long, ms. */
const PAUSE_MS = 100;

/** A turn that was not given, though its HTTP status or its socket did not say so. */
export class TurnFailed extends Error {
  /** Whether to ask again. */
  readonly isPassing: boolean;

  constructor(what: string, isPassing: boolean) {
    super(what);
    this.isPassing = isPassing;
  }
}

/** Rejects when a promise is still open after the longest outage. `what` names it. */
export async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const tooLate = sleep(LONGEST_OUTAGE_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${what} took longer than ${LONGEST_OUTAGE_MS / 1000} s`);
  });
  tooLate.catch(() => undefined);
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    timer.abort();
  }
}

/**
 * Has an action done by a process that serves, and again as long as the answer is one that the official SDKs ask again after. Rejects with
 * any other answer, and with the last one after the longest outage.
 */
export async function insist<T>(
  fleet: Fleet,
  random: SeededRandom,
  action: (client: OpenAI) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + LONGEST_OUTAGE_MS;
  for (;;) {
    try {
      return await action(await fleet.pick(random));
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline) throw error;
      await sleep(pauseOf(error));
    }
  }
}

/** Whether something is not found, or a response that was to be continued. */
export function isMissing(error: unknown): boolean {
  return error instanceof OpenAI.APIError && (error.status === 404 || error.code === 'previous_response_not_found');
}

/** Whether a connection broke, or the answer is one that the official SDKs ask again after. */
export function isPassing(error: unknown): boolean {
  if (error instanceof TurnFailed) return error.isPassing;
  if (!(error instanceof OpenAI.APIError)) return isCut(error);
  const { status, headers } = error as { readonly status?: number; readonly headers?: Headers };
  return status === undefined || isPassingStatus(status) || headers?.get('x-should-retry') === 'true';
}

/** Whether the official SDKs ask again after this status. */
export function isPassingStatus(status: number): boolean {
  return [408, 409, 429].includes(status) || status >= 500;
}

/** A body that breaks off rejects with what Node's fetch makes of it. */
function isCut(error: unknown): boolean {
  return error instanceof TypeError && /terminated|fetch failed/.test(error.message);
}

function pauseOf(error: unknown): number {
  const { headers } = error as { readonly headers?: Headers };
  const seconds = Number(headers?.get('retry-after') ?? 0);
  return seconds > 0 ? seconds * 1000 : PAUSE_MS;
}
