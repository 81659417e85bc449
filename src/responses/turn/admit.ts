import { Injectable } from '@nestjs/common';

import type { Caller } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import {
  type CreateResponseRequest,
  IdGenerator,
  type Includable,
  type Item,
  readTraceContext,
  type RequestParameters,
  type ResponseObject,
  type ResponseSettings,
  type TraceContext,
} from '../../protocol/index.js';
import { pickTurnHeaders, ProviderRegistry, requireModel, type TurnHeaders } from '../../providers/index.js';
import { readSessionId } from '../../resources/sessions/index.js';
import { Clock } from '../../time/index.js';
import { aboveMaximum, belowMinimum, wrongType } from '../../validation/index.js';
import { resolveSettings } from './resolve-settings.js';
import { toItems } from './to-items.js';

const HEADER = 'x-response-ttl';

/** A session that a turn names. */
interface NamedSession {
  readonly id: string;
  /** The source of the name: a header or a member of a frame. */
  readonly param: 'x-session-id' | 'session_id';
  /** Whether the turn holds the session's lock while it runs. */
  readonly locks: boolean;
}

/** An admitted turn: plain data that can be queued, sent to another process and executed later. */
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
  /** The headers that providers read. */
  readonly headers: TurnHeaders;
  /** The trace of the client's request. */
  readonly trace?: TraceContext;
  /** What the Admission has counted when the turn was queued. */
  readonly receipt?: Readonly<Record<string, unknown>>;
  /** False for a warm-up: the context is prepared and can be continued, the model is not asked (protocol §6.4). */
  readonly generate: boolean;
  readonly requestedTier: ResponseObject['service_tier'];
  /** Null: the response belongs to the session of its chain (docs/decisions/2026-11-21-sessions.md). */
  readonly session: NamedSession | null;
  /** True if the turn reads its conversation without the lock, and does not change it. */
  readonly onlyReadsConversation?: boolean;
  /**
   * True if the client gives back whole messages in place of items: it carries the reasoning of the model, with what its upstream demands
   * back, though no upstream is asked to seal it, and it cannot approve calls.
   */
  readonly givesMessages?: boolean;
  /** Lifetime of the response once it is stored, seconds. */
  readonly ttlSeconds: number;
}

/** Properties of a turn beyond its request. */
export interface AdmitOptions {
  /** False for a warm-up (protocol §6.4). */
  readonly generate?: boolean;
  /** The headers of the request or of the upgrade. */
  readonly headers?: RequestHeaders;
  /** The session named by the turn itself, where headers belong to the connection. */
  readonly sessionId?: string | undefined;
  /** Whether a turn that names a session holds its lock. */
  readonly locksSession?: boolean;
  /** Whether the turn reads its conversation without the lock; only for responses that are not stored. */
  readonly onlyReadsConversation?: boolean;
  /** Whether the client gives back whole messages in place of items. */
  readonly givesMessages?: boolean;
}

/** Creates turns from requests: assigns ids and times, without asking the model. */
@Injectable()
export class TurnAdmitter {
  constructor(
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
    private readonly environment: Environment,
    private readonly providers: ProviderRegistry,
  ) {}

  /** Creates a turn from a validated request. Throws ApiError 400 for invalid headers, and 403 for a model that its caller may not use. */
  admit(request: CreateResponseRequest, caller: Caller, options: AdmitOptions): AdmittedTurn {
    requireModel(caller, request.model);
    const { generate = true, headers = {}, locksSession: locks = true } = options;
    const param = options.sessionId === undefined ? 'x-session-id' : 'session_id';
    const sessionId = options.sessionId ?? readSessionId(headers);
    // The look-up is only needed where the request leaves the effort to the model.
    const trace = readTraceContext(headers, request.client_metadata);
    const effort = request.reasoning?.effort ?? this.providers.defaultEffort(request.model);
    const parameters = toParameters(request);
    return {
      responseId: this.ids.next('resp'),
      createdAt: this.clock.nowInSeconds(),
      caller,
      input: toItems(request.input ?? [], this.ids),
      settings: resolveSettings(parameters, effort),
      parameters,
      include: request.include ?? [],
      headers: pickTurnHeaders(this.providers.headerNames, headers, request.client_metadata),
      ...(trace === undefined ? {} : { trace }),
      generate,
      requestedTier: request.service_tier ?? 'auto',
      session: sessionId === undefined ? null : { id: sessionId, param, locks },
      ...(options.onlyReadsConversation === true ? { onlyReadsConversation: true } : {}),
      ...(options.givesMessages === true ? { givesMessages: true } : {}),
      ttlSeconds: readTimeToLive(headers, this.environment),
    };
  }
}

/** An upstream may know `generate_summary` by its present name alone. */
function toParameters({ input: _, ...parameters }: CreateResponseRequest): RequestParameters {
  const { reasoning } = parameters;
  if (reasoning == null || !('generate_summary' in reasoning)) return parameters;
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- clients still send it
  const { generate_summary: older, ...present } = reasoning;
  return { ...parameters, reasoning: { ...present, summary: present.summary ?? older ?? null } };
}

/** Request headers, by their names in lower case. */
type RequestHeaders = Readonly<Record<string, unknown>>;

/** The lifetime of a response, seconds. Throws ApiError 400 for a value that is not an integer or out of bounds. */
function readTimeToLive(
  headers: RequestHeaders,
  limits: Pick<Environment, 'RESPONSE_TTL' | 'RESPONSE_TTL_MAX'>,
): number {
  const value = headers[HEADER];
  if (value === undefined) return limits.RESPONSE_TTL;
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw wrongType('an integer', value).under(HEADER).toError();
  const seconds = Number(value);
  if (seconds < 1) throw belowMinimum('integer', 1, seconds).under(HEADER).toError();
  if (seconds > limits.RESPONSE_TTL_MAX) {
    throw aboveMaximum('integer', limits.RESPONSE_TTL_MAX, seconds).under(HEADER).toError();
  }
  return seconds;
}
