import type { Redis as Client } from 'ioredis';

import { describe } from '../driver-errors.js';
import { reasonOf } from './reason.js';

/** The name of the Sentinel, and what went wrong with it. */
const FAILURE = /^(?:failed to connect|connected) to sentinel (\S+) (?:because|successfully, but got an) (.*)$/s;
/** What a Sentinel says that does not watch a primary of this name. */
const UNAWARE = /^(?:ERR No such master|invalid reply: null)/i;

/** Every Sentinel answers, and none of them watches a primary of this name. */
export class UnknownPrimaryError extends Error {
  override readonly name = 'UnknownPrimaryError';

  constructor(readonly primary: string) {
    super(`the Sentinels do not know a primary named '${primary}'`);
  }
}

/** Whether the driver says that it has asked all Sentinels in vain. */
export function isEndOfRound(error: unknown): boolean {
  return describe(error).startsWith('All sentinels are unreachable');
}

/** What the Sentinels say that the driver asks for the primary, one after another, until one names it. */
export class SentinelRound {
  private readonly failures = new Map<string, string>();

  constructor(private readonly client: Client) {
    client.on('sentinelError', (error: unknown) => {
      const [, sentinel = '', reason = ''] = FAILURE.exec(describe(error)) ?? [];
      this.failures.set(sentinel, reason);
    });
  }

  /** Ends the round. Returns why no Sentinel has named the primary; undefined when one has, or when there are none. */
  end(): Error | undefined {
    const { sentinels, name = '' } = this.client.options;
    const failures = [...this.failures];
    this.failures.clear();
    // Otherwise another one was not asked any more: it has named the primary.
    if (!sentinels || failures.length < sentinels.length) return undefined;
    if (failures.every(([, reason]) => UNAWARE.test(reason))) return new UnknownPrimaryError(name);
    const said = failures.map(([sentinel, reason]) => `${sentinel}: ${reasonOf(new Error(reason))}`);
    return new Error(`no Sentinel names the primary: ${said.join('; ')}`);
  }
}
