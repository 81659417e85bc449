import { expect } from '@jest/globals';

import type { ServiceProcess } from '../process-service.js';
import { beginForEver } from './begin-for-ever.js';
import { Conversation } from './conversation.js';
import { converse, faultsOf, makeConversations, TURNS } from './converse.js';
import type { TurnFault } from './turn-fault.js';

/** What clients reach, and which replica behind it is going to die. */
export interface Scene {
  readonly balancer: { readonly port: number };
  readonly victim: ServiceProcess;
  /** Conversations that are led meanwhile, besides those that the death catches in the middle of a turn. */
  readonly count: number;
}

const CAUGHT = 4;

/**
 * Leads conversations, kills a replica with SIGKILL in the middle, some turns running on it for certain, and goes on until all
 * turns are acknowledged. Gives the conversations; none saw a fault before the death.
 */
export async function loseReplica({ balancer, victim, count }: Scene): Promise<readonly Conversation[]> {
  const caught = Array.from({ length: CAUGHT }, (_, index) => {
    return new Conversation(`caught-${index}`, { transport: 'sse', namesSession: true });
  });
  await converse(balancer, caught, { turns: 1 });
  const conversations = makeConversations('led', count);
  const halfway = Promise.withResolvers<undefined>();
  let left = (count * TURNS) / 2;
  const onTurn = (): void => {
    left -= 1;
    if (left <= 0) halfway.resolve(undefined);
  };
  const led = converse(balancer, conversations, { onTurn });
  // What it rejects with is thrown when it is awaited.
  led.catch(() => undefined);
  await Promise.race([halfway.promise, led]);

  const running = await Promise.all(caught.map((conversation) => beginForEver(victim, conversation)));
  expect(faultsOf([...caught, ...conversations])).toEqual([]);
  victim.kill('SIGKILL');
  for (const [index, { end }] of running.entries()) {
    const fault = await end;
    expect(fault).toMatchObject({ kind: 'cut', responseId: expect.stringMatching(/^resp_/) });
    caught[index]?.faults.push(fault as TurnFault);
  }
  await Promise.all([led, converse(balancer, caught)]);
  return [...caught, ...conversations];
}
