/** Codes of `response.failed` that no retry can help, as of February 2026. */
const FATAL_2026_02 = ['context_length_exceeded', 'insufficient_quota', 'usage_not_included', 'invalid_prompt'];

/** Codes of `response.failed` that no retry can help, as of November 2026. */
const FATAL_2026_11 = [
  ...FATAL_2026_02,
  ...['credit_balance_exhausted', 'organization_spend_limit_exceeded', 'project_spend_limit_exceeded'],
  ...['cyber_policy', 'bio_policy', 'misalignment_policy_violation', 'content_policy_violation', 'model_not_found'],
  ...['flex_unavailable', 'budget_reached', 'inference_hook_denied', 'access_program_not_enabled'],
  ...['unsupported_access_program', 'policy_capacity_unavailable', 'invalid_audio', 'audio_too_large'],
];

/**
 * How a client of the Responses API behaves where Codex has changed over time. Everything else is the same in all profiles
 * (docs/upstreams.md).
 */
export interface Profile {
  readonly name: 'codex-2026-11' | 'codex-2026-02';
  /** Whether the feature `responses_websockets` must be enabled too before a socket is used. */
  readonly gatesWebsockets: boolean;
  /** Value of the header `OpenAI-Beta` of a WebSocket handshake. */
  readonly websocketBeta: string;
  /** Headers of a connection that carry the conversation's id. */
  readonly conversationHeaders: readonly string[];
  /**
   * The frame of an incremental request: `response.append` with the new items only, or `response.create` with
   * `previous_response_id`.
   */
  readonly incremental: 'append' | 'previous_response_id';
  /** What the input of an incremental request must begin with: the input of the last one, or also the items it returned. */
  readonly baseline: 'input' | 'input and output';
  /** Whether an incremental request may have no new items. */
  readonly allowsEmptySuffix: boolean;
  /** Where a socket's server gives the turn state: in the handshake, or in `response.metadata` events. */
  readonly turnStateFrom: 'handshake' | 'event';
  /** Where it is sent back on a socket: in the headers of the next handshake, or in `client_metadata`. */
  readonly turnStateTo: 'handshake' | 'client_metadata';
  /** Whether `response.done` ends a response like `response.completed`; otherwise it is ignored. */
  readonly acceptsDone: boolean;
  /** Whether headers and `error.headers` of an error state a delay; otherwise only its text does. */
  readonly readsRetryAfter: boolean;
  /** Error codes whose text states a delay (`try again in 1.2s`). */
  readonly delayCodes: ReadonlySet<string>;
  /** Error codes of `response.failed` that are not retried. */
  readonly fatalCodes: ReadonlySet<string>;
  /** Error codes of `response.failed` that are retried only if the upstream states a delay. */
  readonly fatalWithoutDelay: ReadonlySet<string>;
}

/** Codex of November 2026. */
const CODEX_2026_11: Profile = {
  name: 'codex-2026-11',
  gatesWebsockets: false,
  websocketBeta: 'responses_websockets=2026-02-06',
  conversationHeaders: ['session-id', 'thread-id', 'x-client-request-id'],
  incremental: 'previous_response_id',
  baseline: 'input and output',
  allowsEmptySuffix: true,
  turnStateFrom: 'event',
  turnStateTo: 'client_metadata',
  acceptsDone: false,
  readsRetryAfter: true,
  delayCodes: new Set(['rate_limit_exceeded', 'slow_down']),
  fatalCodes: new Set(FATAL_2026_11),
  fatalWithoutDelay: new Set(['server_is_overloaded']),
};

/** Codex of February 2026. */
const CODEX_2026_02: Profile = {
  name: 'codex-2026-02',
  gatesWebsockets: true,
  websocketBeta: 'responses_websockets=2026-02-04',
  conversationHeaders: ['session_id'],
  incremental: 'append',
  baseline: 'input',
  allowsEmptySuffix: false,
  turnStateFrom: 'handshake',
  turnStateTo: 'handshake',
  acceptsDone: true,
  readsRetryAfter: false,
  delayCodes: new Set(['rate_limit_exceeded']),
  fatalCodes: new Set(FATAL_2026_02),
  fatalWithoutDelay: new Set(),
};

/** The profiles by name. */
export const PROFILES: Readonly<Record<Profile['name'], Profile>> = {
  'codex-2026-11': CODEX_2026_11,
  'codex-2026-02': CODEX_2026_02,
};
