import type { Clock } from '../../../time/index.js';
import type { UpstreamAddress } from '../../upstream-http/upstream-client.js';
import type { WebsocketOptions } from '../options.js';

/** The server, and how WebSockets to it are kept. */
export interface SocketPoolOptions {
  /** `timeouts.idleMs` is the longest time between two messages of an answer. */
  readonly address: UpstreamAddress;
  readonly websockets: WebsocketOptions;
  readonly clock: Clock;
}

/** The socket that a turn needs. */
export interface WantedSocket {
  /** Sockets are used for one conversation only. */
  readonly conversation: string;
  /** Headers of the handshake beside those of the address; names in lower case. A socket that was opened with others is replaced. */
  readonly headers: Readonly<Record<string, string>>;
  /** Further headers of a handshake. They are those of one turn: an open socket is used without them. */
  readonly turnHeaders?: Readonly<Record<string, string>>;
  /** The response to be continued; an idle socket that continues it is preferred. */
  readonly responseId: string | undefined;
  readonly signal: AbortSignal;
}
