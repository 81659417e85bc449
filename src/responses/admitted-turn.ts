import type { Caller } from '../access/index.js';
import type { Includable, Item, RequestParameters, ResponseObject, ResponseSettings } from '../protocol/index.js';
import type { TurnHeaders } from '../providers/index.js';

/** A session that a turn names. */
export interface NamedSession {
  readonly id: string;
  /** What named it: a header or a member of a frame. */
  readonly param: 'x-session-id' | 'session_id';
  /** Whether the turn holds the session's lock while it runs. */
  readonly locks: boolean;
}

/** A turn that was let in: plain data that can be queued, sent elsewhere and executed later. */
export interface AdmittedTurn {
  readonly responseId: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly caller: Caller;
  /** This request's input in stored form: every item has an id and a type; references are not resolved yet. */
  readonly input: readonly Item[];
  readonly settings: ResponseSettings;
  /** The request as it was sent, without its input. */
  readonly parameters: RequestParameters;
  readonly include: readonly Includable[];
  /** What the client asks of the provider itself. */
  readonly headers: TurnHeaders;
  /** False for a warm-up: the context is prepared and can be continued, the model is not asked (protocol §6.4). */
  readonly generate: boolean;
  readonly requestedTier: ResponseObject['service_tier'];
  /** Null: the response belongs to the session of its chain (docs/decisions). */
  readonly session: NamedSession | null;
  /** How long the response lives once it is stored. */
  readonly ttlSeconds: number;
}
