import type { Includable, Item, Origin, RequestParameters, ResponseSettings } from '../protocol/index.js';
import type { TurnHeaders } from './turn-headers.js';

/** What a provider is asked to answer. */
export interface Turn {
  readonly responseId: string;
  /** Only what is new: what this request brought or, where the model is asked again in the same response, what it was given. */
  readonly input: readonly Item[];
  /** Everything the model sees, oldest first: the chain behind `previous_response_id`, then the input. Built when read. */
  readonly context: readonly Item[];
  /** Model, instructions, tools, sampling and the rest, after defaults. */
  readonly settings: ResponseSettings;
  /**
   * The request as the client sent it, without its input. What is absent here has its default in `settings`; members that no
   * type knows are here and nowhere else.
   */
  readonly parameters: RequestParameters;
  /** What the client wants to see beyond the default. */
  readonly include: readonly Includable[];
  /** The request headers that providers declare to read (`requestHeaders`). */
  readonly headers: TurnHeaders;
  /** The response that goes on: the one of `previous_response_id` or, where the model is asked again, the response itself. */
  readonly parent: { readonly responseId: string; readonly origin: Origin | null } | null;
}
