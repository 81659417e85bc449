import type { Redis as Client } from 'ioredis';

import { StoreUnavailableError } from '../errors.js';
import { isWorthRepeating } from './errors.js';
import type { Command, LuaScript } from './script.js';

/** The commands of one request that go to one node. */
export interface Batch {
  readonly node: Client;
  readonly commands: readonly Command[];
  /** Whether the node is asked although another one still answers for the keys: they are on their way to it. */
  readonly isAsking: boolean;
}

/** Replicas that are to confirm a write, and for how long to wait for them, ms. */
export interface Confirmation {
  readonly replicas: number;
  readonly timeoutMs: number;
}

/** The scripts that a node was sent. It forgets them when it is started again. */
const sent = new WeakMap<Client, Set<LuaScript>>();

/**
 * Sends commands together; the replies are those of the commands in order. With a confirmation the replicas are waited for on the same
 * connection, as part of the same round trip; throws StoreUnavailableError when there are too few.
 */
export async function sendBatch(batch: Batch, confirmation?: Confirmation): Promise<readonly unknown[]> {
  try {
    return await (confirmation === undefined ? Promise.all(issueAll(batch)) : sendConfirmed(batch, confirmation));
  } catch (error) {
    // The address may lead to another server now.
    if (isWorthRepeating(error)) sent.delete(batch.node);
    throw error;
  }
}

async function sendConfirmed(batch: Batch, { replicas, timeoutMs }: Confirmation): Promise<readonly unknown[]> {
  const replies: Promise<unknown>[] = [];
  // On the connection of the writes, and sent with them: on another one it would say nothing of them.
  const confirmed = together(batch.node, () => {
    replies.push(...issueAll(batch));
    return batch.node.wait(replicas, timeoutMs);
  });
  const [count, ...results] = await Promise.all([confirmed, ...replies]);
  if (count >= replicas) return results;
  throw new StoreUnavailableError(
    `${count} replicas of Redis confirmed a write, and REDIS_WAIT_REPLICAS is ${replicas}`,
  );
}

function issueAll({ node, commands, isAsking }: Batch): readonly Promise<unknown>[] {
  const [only] = commands;
  if (commands.length === 1 && only !== undefined && !isAsking) return [issue(node, only)];
  return together(node, () =>
    commands.map((command) => {
      if (isAsking) node.asking().catch(() => undefined);
      return issue(node, command);
    }),
  );
}

/** Has what is sent leave in one packet, if it fits. */
function together<Result>(node: Client, send: () => Result): Result {
  // A node of a cluster that was not asked before has none yet.
  const stream = node.stream as Client['stream'] | undefined;
  stream?.cork();
  try {
    return send();
  } finally {
    stream?.uncork();
  }
}

function issue(node: Client, command: Command): Promise<unknown> {
  if (!('script' in command)) return node.call(command[0], ...command.slice(1));
  const { script, keys, args } = command;
  let known = sent.get(node);
  if (known === undefined) sent.set(node, (known = new Set()));
  if (known.has(script)) return node.evalsha(script.digest, keys.length, ...keys, ...args);
  known.add(script);
  return node.eval(script.text, keys.length, ...keys, ...args);
}
