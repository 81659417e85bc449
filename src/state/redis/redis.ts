import { Cluster, Command as DriverCommand, type Redis as Client } from 'ioredis';

import type { Clock } from '../../time/index.js';
import { StoreUnavailableError } from '../errors.js';
import { type Batch, type Confirmation, sendBatch } from './batch.js';
import type { RedisSettings } from './connection-options.js';
import { close, RedisConnection } from './connection.js';
import {
  isDemoted,
  isMoving,
  isPassing,
  isTimeout,
  isUnfit,
  isWorthRepeating,
  replyOf,
  toStoreError,
  toUnavailable,
} from './errors.js';
import { requireUsable } from './requirements.js';
import { type Command, keyOf, run, LuaScript } from './script.js';

/** How often a request is sent at most: a server that was started again is lost first, and then does not know the scripts. */
const MOST_ATTEMPTS = 3;
/** Keys that one step of a scan looks at. */
const SCANNED = 1000;
/** Between attempts while a slot is on its way to another node, ms. */
const MOVING_PAUSE_MS = 20;
/** The part of the time of a command that replicas may take to confirm it. */
const CONFIRMATION_SHARE = 0.8;

/** KEYS: any, which decides on the node of a cluster. Returns seconds and microseconds, as TIME does. */
const TIME = new LuaScript(`return redis.call('TIME')`);

/** KEYS: any. Does what a user may be forbidden, as scripts do. */
const CHECK = new LuaScript(`return redis.call('DEL', KEYS[1])`);

/** The connection to Redis for requests. Methods throw StoreUnavailableError while it is unavailable. */
export class Redis {
  private readonly reading: RedisConnection;
  /** A second connection when replicas confirm writes: until they have, Redis answers nothing else on it. */
  private readonly writing: RedisConnection;
  private readonly confirmation: Confirmation | undefined;
  private isOpen = false;
  /** Whether Redis has forbidden something since the last check. */
  private isInDoubt = false;

  constructor(
    private readonly settings: RedisSettings,
    private readonly clock: Clock,
  ) {
    const { REDIS_WAIT_REPLICAS: replicas, REDIS_COMMAND_TIMEOUT_MS: timeoutMs } = settings;
    this.reading = new RedisConnection(settings, clock);
    this.writing = replicas === 0 ? this.reading : new RedisConnection(settings, clock);
    // 0 would wait for ever.
    const confirmation = { replicas, timeoutMs: Math.ceil(timeoutMs * CONFIRMATION_SHARE) };
    this.confirmation = replicas === 0 ? undefined : confirmation;
  }

  /**
   * Connects, and lets `prepare` ask for the time before anything else is sent. Throws StateStartError when Redis cannot be used as it is,
   * errors of the driver when it is not available, and what `prepare` throws.
   */
  async open(prepare: () => Promise<void>): Promise<void> {
    await Promise.all(Array.from(this.connections, (connection) => connection.open()));
    await requireUsable(this.writing, this.settings);
    await prepare();
    this.isOpen = true;
  }

  private get connections(): ReadonlySet<RedisConnection> {
    return new Set([this.reading, this.writing]);
  }

  /** The driver's client that writes, for a library that brings its own commands. */
  get client(): Client | Cluster {
    return this.writing.client;
  }

  /** Sends nothing more, and waits for the replies to what was sent. */
  async quit(): Promise<void> {
    await Promise.all(Array.from(this.connections, (connection) => connection.quit()));
  }

  /** Closes the connections at once. */
  cut(): void {
    for (const connection of this.connections) connection.cut();
  }

  /** An error that `client` threw as the methods here throw it: while the connection is away, it says why. */
  explain(error: unknown): unknown {
    return toStoreError(isPassing(error) ? (this.writing.fault ?? error) : error);
  }

  /**
   * Throws StoreUnavailableError when nothing can be written, when the user may run no scripts or publish nothing, and when too few replicas
   * confirm what is written.
   */
  async check(): Promise<void> {
    const key = `${this.settings.REDIS_PREFIX}:check`;
    // Refused by a replica, but not when the memory is full: what is stored can be read.
    await this.write(run(CHECK, [key]), ['PUBLISH', key, '']);
    this.isInDoubt = false;
  }

  /** Checks as `check` does, but only when the connection is not open, or something was forbidden; otherwise returns no promise. */
  checkIfInDoubt(): void | Promise<void> {
    if (!this.isOpen || !this.writing.isReady || this.isInDoubt) return this.check();
  }

  /** What the clock of Redis shows, milliseconds since the Unix epoch; of a cluster that of the same node for all replicas. Also before `open`. */
  async time(): Promise<number> {
    const [reply] = await this.request(this.reading, [run(TIME, [`${this.settings.REDIS_PREFIX}:clock`])]);
    const [seconds, microseconds] = reply as readonly [string, string];
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  }

  /** Sends commands together, each to the node of its keys, and returns their replies in order. */
  async read(...commands: readonly Command[]): Promise<readonly unknown[]> {
    this.requireOpen();
    return this.request(this.reading, commands);
  }

  /**
   * Runs commands that write; resolves when they are stored as safely as configured. Commands are repeated when a connection
   * breaks: they must be idempotent. Commands that fail leave those of other nodes, and other ones of their node, written.
   */
  async write(...commands: readonly Command[]): Promise<readonly unknown[]> {
    this.requireOpen();
    return this.request(this.writing, commands, this.confirmation);
  }

  /** What every server that is written to says of a section of itself. Throws StoreUnavailableError. */
  async infos(section: string): Promise<readonly string[]> {
    this.requireOpen();
    try {
      return await Promise.all(this.writing.primaries.map((node) => node.info(section)));
    } catch (error) {
      throw toStoreError(error);
    }
  }

  /** The names of the keys of a type that fit a pattern, of all nodes, in parts; some may come twice. Throws StoreUnavailableError. */
  async *scan(pattern: string, type: 'hash' | 'string'): AsyncGenerator<readonly string[]> {
    this.requireOpen();
    try {
      for (const node of this.reading.primaries) {
        // As it is iterated over, it asks for the next part when the one before is taken.
        for await (const names of node.scanStream({ match: pattern, count: SCANNED, type })) {
          yield names as readonly string[];
        }
      }
    } catch (error) {
      throw toStoreError(error);
    }
  }

  private requireOpen(): void {
    if (!this.isOpen) throw new StoreUnavailableError('Redis is not ready yet');
  }

  private async request(
    connection: RedisConnection,
    commands: readonly Command[],
    confirmation?: Confirmation,
  ): Promise<readonly unknown[]> {
    let redirection: Redirection | undefined;
    const deadline = this.clock.now() + this.settings.REDIS_COMMAND_TIMEOUT_MS;
    try {
      for (let attempt = 1; ;) {
        try {
          if (!connection.isReady) await connection.untilReady();
          return await send(connection, commands, confirmation, redirection);
        } catch (error) {
          if (attempt === MOST_ATTEMPTS || !isWorthRepeating(error)) throw error;
          const next = redirectionOf(error);
          if (isMoving(error) && next?.slot === redirection?.slot) {
            // A script waits until the other node has the whole slot.
            if (this.clock.now() >= deadline) throw error;
            await this.clock.sleep(MOVING_PAUSE_MS);
          } else attempt += 1;
          redirection = next;
          const { client } = connection;
          if (client instanceof Cluster && redirection === undefined) await refresh(client);
        }
      }
    } catch (error) {
      this.isInDoubt ||= isUnfit(error);
      // Without a connection nothing can be served, whatever is the reason: a certificate that has expired, a password that was changed.
      throw error === connection.fault ? toUnavailable(error) : toStoreError(error);
    }
  }
}

async function send(
  connection: RedisConnection,
  commands: readonly Command[],
  confirmation: Confirmation | undefined,
  redirection: Redirection | undefined,
): Promise<readonly unknown[]> {
  const { client } = connection;
  if (!(client instanceof Cluster)) return sendOrRenew({ node: client, commands, isAsking: false }, confirmation);
  const batches = route(client, commands, redirection);
  const replies: unknown[] = new Array(commands.length);
  await Promise.all(
    batches.map(async (batch) => {
      const results = await sendOrRenew(batch, confirmation);
      for (const [index, position] of batch.positions.entries()) replies[position] = results[index];
    }),
  );
  return replies;
}

/** A connection that is silent, or leads to a server that is no primary any more, is of no use to the requests that follow. */
async function sendOrRenew(batch: Batch, confirmation: Confirmation | undefined): Promise<readonly unknown[]> {
  const { stream } = batch.node;
  try {
    return await sendBatch(batch, confirmation);
  } catch (error) {
    if (isTimeout(error) || isDemoted(error)) await close(stream);
    throw error;
  }
}

/** Has a cluster look where its slots are. Does nothing when no node can tell: the next attempt says so. */
function refresh(cluster: Cluster): Promise<void> {
  return new Promise((resolve) => cluster.refreshSlotsCache(() => resolve()));
}

/** Commands of a batch, with their positions in the request. */
interface RoutedBatch extends Batch {
  readonly positions: readonly number[];
}

/** A slot that is on its way to another node, which already has some of its keys. */
interface Redirection {
  readonly slot: number;
  /** Host and port. */
  readonly node: string;
}

/** The redirection that an error of a node is. */
function redirectionOf(error: unknown): Redirection | undefined {
  const [kind, slot, node] = replyOf(error).split(' ');
  return kind === 'ASK' && node !== undefined ? { slot: Number(slot), node } : undefined;
}

/**
 * Which node of a cluster gets which commands. A redirection is not for scripts: they use keys that they do not name, of which
 * the other node may have some. Throws StoreUnavailableError when one of them is not known. */
function route(
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
