import type { ApiError } from '../protocol/index.js';

/** Why the turns of a connection are stopped. */
export type StopCause = 'disconnect' | 'expiry' | 'drain';

/** A lane as `/connections` shows it. */
export interface LaneSummary {
  /** Null for the default lane. */
  readonly stream_id: string | null;
  readonly in_flight: number;
  readonly queued: number;
}

/** The turns of a connection, as its lifecycle needs them. */
export interface ConnectionWork {
  /** Lanes used so far. */
  lanes(): readonly LaneSummary[];

  /** Whether no turn is running or queued. */
  readonly isIdle: boolean;

  /** Resolves as soon as no turn is running. */
  whenIdle(): Promise<unknown>;

  /** Refuses the queued turns, each after the one that runs on its lane. */
  refuse(error: ApiError): void;

  /** Stops the running turns. */
  stop(cause: StopCause): void;

  /** The socket is closing: stops running turns and frees all resources. May be called more than once. */
  end(): void;
}
