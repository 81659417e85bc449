import type { Includable, Item, Origin, RequestParameters, ResponseSettings, TraceContext } from '../protocol/index.js';
import type { TurnHeaders } from './turn-headers.js';

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
