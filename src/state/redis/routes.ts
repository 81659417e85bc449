import { type Cluster, Command as DriverCommand, type Redis as Client } from 'ioredis';

import { replyOf } from './reason.js';
import { StoreUnavailableError } from '../errors.js';
import type { Batch } from './batch.js';
import { type Command, keyOf } from './script.js';

/** Commands of a batch, with their positions in the request. */
export interface RoutedBatch extends Batch {
  readonly positions: readonly number[];
}

/** A slot that is on its way to another node, which already has some of its keys. */
export interface Redirection {
  readonly slot: number;
  /** Host and port. */
  readonly node: string;
}

/** The redirection that an error of a node is. */
export function redirectionOf(error: unknown): Redirection | undefined {
  const [kind, slot, node] = replyOf(error).split(' ');
  return kind === 'ASK' && node !== undefined ? { slot: Number(slot), node } : undefined;
}

/**
 * Which node of a cluster gets which commands. A redirection is not for scripts: they use keys that they do not name, of which
 * the other node may have some. Throws StoreUnavailableError when one of them is not known. */
export function route(
  cluster: Cluster,
  commands: readonly Command[],
  redirection: Redirection | undefined,
): readonly RoutedBatch[] {
  const nodes = new Map(cluster.nodes('all').map((node) => [nameOf(node), node]));
  const batches = new Map<string, RoutedBatch & { commands: Command[]; positions: number[] }>();
  for (const [position, command] of commands.entries()) {
    const slot = slotOf(keyOf(command));
    const isAsking = redirection?.slot === slot && !('script' in command);
    const name = isAsking ? redirection.node : (cluster.slots[slot]?.[0] ?? '');
    const node = nodes.get(name);
    if (node === undefined) throw new StoreUnavailableError('a node of the Redis cluster is not available');
    const key = isAsking ? `asking ${name}` : name;
    let batch = batches.get(key);
    if (batch === undefined) batches.set(key, (batch = { node, isAsking, commands: [], positions: [] }));
    batch.commands.push(command);
    batch.positions.push(position);
  }
  return [...batches.values()];
}

function nameOf({ options }: Client): string {
  return `${options.host}:${options.port}`;
}

function slotOf(key: string): number {
  return new DriverCommand('GET', [key]).getSlot();
}
