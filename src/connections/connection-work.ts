import type { ApiError } from '../protocol/index.js';

/** Why the turns of a connection are stopped. */
export type StopCause = 'disconnect' | 'expiry' | 'drain';

/** A lane as its tenant sees it. */
export interface LaneSummary {
  /** Null for the default lane. */
  readonly stream_id: string | null;
  readonly in_flight: number;
  readonly queued: number;
}

/** What a connection carries, as far as its keeper is concerned. */
export interface ConnectionWork {
  /** Lanes that were used so far. */
  lanes(): readonly LaneSummary[];

  /** Whether no turn is running or waiting. */
  readonly isIdle: boolean;

  /** Resolves as soon as no turn is running. */
  whenIdle(): Promise<unknown>;

  /** Refuses the turns that wait. */
  refuse(error: ApiError): void;

  /** Stops the turns that run. */
  stop(cause: StopCause): void;

  /** The socket is closing: stops what runs and frees everything. May be called again. */
  end(): void;
}
