import type { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import type { StopCause } from './connection-work.js';

/** How a connection is closed (protocol §6.10). */
export interface Closing {
  readonly code: number;
  readonly reason: string;
  /** The error for turns that arrive or are queued from now on. */
  readonly refusal: ApiError;
  /** How long running turns may continue, ms. */
  readonly graceMs: number;
  /** Why turns are stopped that still run after the grace period. */
  readonly stop: StopCause;
  /** A final error frame for the connection itself. */
  readonly farewell?: ApiError;
}

/** Time limit of the closing handshake for a client that was refused or does not read, ms. */
export const SHORT_HANDSHAKE_MS = 1000;

/** Time limit of the closing handshake for any other client, ms: it may still be reading the end of its answer. */
export const HANDSHAKE_MS = 10_000;

/** The connection has reached WS_MAX_LIFETIME_MS. Clients recognise the code and continue on a new connection. */
export function expired({ WS_EXPIRY_CLOSE_CODE, WS_EXPIRY_GRACE_MS, WS_MAX_LIFETIME_MS }: Environment): Closing {
  const limit = ApiError.of(
    'websocket_connection_limit_reached',
    `Responses websocket connection limit reached (${inWords(WS_MAX_LIFETIME_MS)}). ` +
      'Create a new websocket connection to continue.',
  );
  return {
    code: WS_EXPIRY_CLOSE_CODE,
    reason: 'connection_expired',
    refusal: limit,
    farewell: limit,
    graceMs: WS_EXPIRY_GRACE_MS,
    stop: 'expiry',
  };
}

/** The process is shutting down; another replica accepts new connections. */
export function restarting({ DRAIN_TIMEOUT_MS }: Environment): Closing {
  return {
    code: 1012,
    reason: 'service_restarting',
    refusal: ApiError.retryLater('The server is shutting down. Please retry on a new connection.'),
    graceMs: DRAIN_TIMEOUT_MS,
    stop: 'drain',
  };
}

/** The tenant retired the connection. */
export function retired({ WS_EXPIRY_CLOSE_CODE, WS_EXPIRY_GRACE_MS }: Environment): Closing {
  return {
    code: WS_EXPIRY_CLOSE_CODE,
    reason: 'connection_retired',
    refusal: ApiError.retryLater('This connection is being closed. Please retry on a new connection.'),
    graceMs: WS_EXPIRY_GRACE_MS,
    stop: 'expiry',
  };
}

/** No turn and no message within WS_IDLE_TIMEOUT_MS. */
export function idle(): Closing {
  return {
    code: 1000,
    reason: 'idle_timeout',
    refusal: ApiError.retryLater('This connection was idle for too long. Please retry on a new connection.'),
    graceMs: 0,
    stop: 'expiry',
  };
}

/** A duration in ms as text, such as `5 minutes`. */
export function inWords(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [count, unit] = seconds % 60 === 0 ? [seconds / 60, 'minute'] : [seconds, 'second'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
