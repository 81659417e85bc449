import type { Includable, Item, Origin, RequestParameters, ResponseSettings, TraceContext } from '../protocol/index.js';

/** A turn for a provider to answer. */
export interface Turn {
  readonly responseId: string;
  /** The tenant of the client. Data of a turn that a provider keeps must never reach another tenant. */
  readonly tenant: string;
  /** The session of the response: the named one, or the id of the first response of its chain. */
  readonly sessionId: string;
  /** New items only: the input of the request or, in a further pass of the same response, the items added since the last pass. */
  readonly input: readonly Item[];
  /** The whole transcript, oldest first: the chain of `previous_response_id`, then the input. Built on access: a copy of the turn (`{ ...turn }`) is without it. */
  readonly context: readonly Item[];
  /** Model, instructions, tools, sampling and the rest, after defaults. */
  readonly settings: ResponseSettings;
  /**
   * The request as the client sent it, without its input. Absent members have their default in `settings`; unknown members are
   * only here.
   */
  readonly parameters: RequestParameters;
  /** Additional output that the client requested. */
  readonly include: readonly Includable[];
  /** The request headers that providers declare in `requestHeaders`. */
  readonly headers: TurnHeaders;
  /** The trace that requests to upstreams belong to; absent without one. */
  readonly trace?: TraceContext | undefined;
  /** Whether another upstream is asked if this one fails before its output: then a provider need not repeat its request. */
  readonly hasOthers?: boolean;
  /** `summary`: the service asks for a summary of the context (docs/compaction.md); absent for the turns of clients. */
  readonly purpose?: 'summary' | undefined;
  /** False where the client cannot approve calls of tools, which are then not offered; absent otherwise. */
  readonly canApprove?: false | undefined;
  /** The response that this turn continues: `previous_response_id` or, in a further pass, the response itself. */
  readonly parent: { readonly responseId: string; readonly origin: Origin | null } | null;
}

/** Forwarded request headers, by name in lower case. */
export type TurnHeaders = Readonly<Record<string, string>>;

/** The names of headers that reach providers, in lower case. */
export interface HeaderNames {
  /** Headers that the program forwards. */
  readonly forwarded: readonly string[];
  /** Headers that providers read. On a socket, where headers belong to the connection, a turn gives them in `client_metadata`. */
  readonly read: readonly string[];
}

/** Picks headers. `client_metadata` takes precedence for those that providers read. */
export function pickTurnHeaders(
  { forwarded, read }: HeaderNames,
  headers: Readonly<Record<string, unknown>>,
  clientMetadata: unknown,
): TurnHeaders {
  const own = typeof clientMetadata === 'object' && clientMetadata !== null ? clientMetadata : {};
  const found: Record<string, string> = {};
  for (const name of forwarded) {
    const value = headers[name];
    if (typeof value === 'string') found[name] = value;
  }
  for (const name of read) {
    const values: readonly unknown[] = [Object.hasOwn(own, name) ? Reflect.get(own, name) : undefined, headers[name]];
    const value = values.find((candidate) => typeof candidate === 'string');
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** The headers of the trace that a turn belongs to (W3C Trace Context). */
export function traceHeaders({ trace }: Turn): Readonly<Record<string, string>> {
  if (trace === undefined) return {};
  const { traceparent, tracestate } = trace;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}

/** Every member of a turn, the optional ones too: what implements it cannot forget one. */
export type WholeTurn = { readonly [Member in keyof Required<Turn>]: Turn[Member] };

/**
 * A turn made of another, with input and context of its own. Its members are fields, not accessors, so that a copy of it
 * (`{ ...turn }`) has them.
 */
export abstract class DerivedTurn implements WholeTurn {
  readonly responseId: Turn['responseId'];
  readonly tenant: Turn['tenant'];
  readonly sessionId: Turn['sessionId'];
  readonly include: Turn['include'];
  readonly headers: Turn['headers'];
  readonly trace: Turn['trace'];
  readonly purpose: Turn['purpose'];
  readonly canApprove: Turn['canApprove'];
  readonly parent: Turn['parent'];
  abstract readonly input: Turn['input'];
  abstract readonly context: Turn['context'];

  constructor(
    turn: Turn,
    readonly settings: Turn['settings'],
    readonly parameters: Turn['parameters'],
    readonly hasOthers: Turn['hasOthers'] = turn.hasOthers,
  ) {
    this.responseId = turn.responseId;
    this.tenant = turn.tenant;
    this.sessionId = turn.sessionId;
    this.include = turn.include;
    this.headers = turn.headers;
    this.trace = turn.trace;
    this.purpose = turn.purpose;
    this.canApprove = turn.canApprove;
    this.parent = turn.parent;
  }
}
