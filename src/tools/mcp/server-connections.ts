import { type Clock, type Timer, untilAborted } from '../../time/index.js';
import type { McpConnection, ConnectionSettings } from './connection.js';
import { McpFailure } from './failures.js';
import { RequestSlots } from './request-slots.js';

/** Bounds of the connections to one server. */
export interface ConnectionLimits {
  readonly maxConnections: number;
  readonly maxRequests: number;
  readonly connectMs: number;
  readonly idleMs: number;
}

/** A connection that is open, or about to be. */
interface Pooled {
  readonly opening: Promise<McpConnection>;
  /** Gives the connection up while it is opened. */
  readonly giveUp: AbortController;
  /** Null until it is open. */
  connection: McpConnection | null;
  users: number;
  idle: Timer | null;
}

/**
 * The connections to one server: one for each tenant and set of credentials, opened when needed and closed when idle. They are bounded, as
 * are the requests that are under way, so that a slow server holds nothing but requests of its own.
 */
export class ServerConnections {
  /** Why the latest request got no answer; null if it got one, or there was none. */
  error: string | null = null;
  /** Tools that the latest list lacks. */
  leftOut = 0;
  private readonly slots: RequestSlots;
  /** By tenant and credentials, the least recently used first. */
  private readonly pooled = new Map<string, Pooled>();
  private isRetired = false;
  private changedAtMs = -Infinity;

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly clock: Clock,
  ) {
    this.slots = new RequestSlots(limits.maxRequests);
  }

  /** Connections that are open, or about to be. */
  get size(): number {
    return this.pooled.size;
  }

  /** When the server said last that its tools have changed (Unix, ms); -Infinity if it never did. */
  get listChangedAtMs(): number {
    return this.changedAtMs;
  }

  /**
   * Does work with a connection of the key. Rejects with the errors of the work and of connecting, McpFailure where none is free, and
   * the reason of the signal.
   *
   * @param key names the tenant and the credentials: nobody else gets the connection
   */
  async use<T>(
    key: string,
    settings: Omit<ConnectionSettings, 'onListChanged'>,
    signal: AbortSignal,
    work: (connection: McpConnection) => Promise<T>,
  ): Promise<T> {
    const waiting = this.slots.take(signal);
    if (waiting !== undefined) await waiting;
    try {
      const pooled = this.take(key, settings);
      try {
        return await work(pooled.connection ?? (await untilAborted(pooled.opening, signal)));
      } finally {
        this.release(key, pooled);
      }
    } finally {
      this.slots.free();
    }
  }

  /** Closes each connection as soon as nothing uses it. */
  retire(): void {
    this.isRetired = true;
    for (const [key, pooled] of this.pooled) if (pooled.users === 0) void this.drop(key, pooled);
  }

  /** Closes all connections, also those in use. */
  async close(): Promise<void> {
    this.isRetired = true;
    await Promise.all([...this.pooled].map(([key, pooled]) => this.drop(key, pooled)));
  }

  private take(key: string, settings: Omit<ConnectionSettings, 'onListChanged'>): Pooled {
    const known = this.pooled.get(key);
    const pooled = known === undefined || known.connection?.isGone === true ? this.open(key, settings) : known;
    // The order of the map is that of use.
    this.pooled.delete(key);
    this.pooled.set(key, pooled);
    pooled.idle?.cancel();
    pooled.idle = null;
    pooled.users += 1;
    return pooled;
  }

  private open(key: string, settings: Omit<ConnectionSettings, 'onListChanged'>): Pooled {
    if (this.pooled.size >= this.limits.maxConnections) this.closeOneIdle();
    const giveUp = new AbortController();
    const onListChanged = (): void => {
      this.changedAtMs = this.clock.now();
    };
    const opening = this.connect({ ...settings, onListChanged }, giveUp);
    const pooled: Pooled = { opening, giveUp, connection: null, users: 0, idle: null };
    opening.then(
      (connection) => {
        pooled.connection = connection;
      },
      () => this.forget(key, pooled),
    );
    return pooled;
  }

  private async connect(settings: ConnectionSettings, giveUp: AbortController): Promise<McpConnection> {
    const { connectMs } = this.limits;
    const timer = this.clock.schedule(connectMs, () =>
      giveUp.abort(new McpFailure('timeout', `The server did not accept a connection within ${connectMs} ms.`)),
    );
    try {
      // Loaded on demand: most services call no MCP servers, and need not have the library.
      const { McpConnection: Opened } = await import('./connection.js');
      return await Opened.open(settings, this.clock, giveUp.signal);
    } finally {
      timer.cancel();
    }
  }

  private release(key: string, pooled: Pooled): void {
    pooled.users -= 1;
    if (this.pooled.get(key) !== pooled) return;
    if (pooled.connection?.isGone === true) this.forget(key, pooled);
    else if (pooled.users > 0) return;
    else if (this.isRetired) void this.drop(key, pooled);
    else pooled.idle = this.clock.schedule(this.limits.idleMs, () => void this.drop(key, pooled));
  }

  private closeOneIdle(): void {
    for (const [key, pooled] of this.pooled) {
      if (pooled.users > 0) continue;
      void this.drop(key, pooled);
      return;
    }
    throw new McpFailure('busy', 'All connections to the server are in use. Please retry your request.');
  }

  private async drop(key: string, pooled: Pooled): Promise<void> {
    this.forget(key, pooled);
    pooled.giveUp.abort(new McpFailure('busy', 'The connection to the server was closed.'));
    const connection = await pooled.opening.catch(() => null);
    await connection?.close();
  }

  private forget(key: string, pooled: Pooled): void {
    pooled.idle?.cancel();
    if (this.pooled.get(key) === pooled) this.pooled.delete(key);
  }
}
