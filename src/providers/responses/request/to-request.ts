import type { Turn } from '../../turn.js';
import type { ResponsesOptions } from '../options.js';
import type { Conversation } from './conversation.js';
import { SENT_COUNTED_MEMBERS, SENT_MEMBERS } from './member-names.js';
import { divideMembers, UpstreamRequest } from './upstream-request.js';

const ENCRYPTED_REASONING = 'reasoning.encrypted_content';

/**
 * Translates a turn: what the client sent, not what defaults added, so that the upstream's own defaults apply. Only the model, the cap
 * of `max_output_tokens`, `store`, `include` and `prompt_cache_key` are the service's.
 */
export function toRequest(turn: Turn, conversation: Conversation, options: ResponsesOptions): UpstreamRequest {
  const { settings, parameters } = turn;
  const { forward } = options;
  const stores = options.storesUpstream && settings.store;
  const given = pick(parameters, [...SENT_MEMBERS, ...forward]);
  const include = stores ? turn.include : toInclude(turn);
  // The service has done what it asks for.
  if (!options.compactsUpstream) delete given['context_management'];
  const members: Record<string, unknown> = {
    model: settings.model,
    stream: true,
    ...given,
    ...(settings.max_output_tokens === null ? {} : { max_output_tokens: settings.max_output_tokens }),
    ...(include.length === 0 ? {} : { include }),
    prompt_cache_key: given['prompt_cache_key'] ?? conversation.id,
    store: stores,
  };
  return createRequest(turn, members, options);
}

/** The request of `POST /responses/input_tokens` for a turn: the members that count (protocol §1.1), as `toRequest` sends them. */
export function toCountRequest(turn: Turn, options: ResponsesOptions): UpstreamRequest {
  const given = pick(turn.parameters, [...SENT_COUNTED_MEMBERS, ...options.forward]);
  return createRequest(turn, { model: turn.settings.model, ...given }, options);
}

function createRequest(turn: Turn, members: Record<string, unknown>, options: ResponsesOptions): UpstreamRequest {
  const { name, omit, storesUpstream } = options;
  return new UpstreamRequest(turn, divideMembers(members, omit), {
    provider: name,
    keepsAll: storesUpstream && turn.settings.store,
    takesMetadata: !omit.has('client_metadata'),
  });
}

/**
 * The JSON of `POST /responses`: the whole context, or the new items only if the upstream keeps the conversation and
 * `previousResponseId` is its name of the parent.
 */
export function toHttpBody(request: UpstreamRequest, previousResponseId: string | null): string {
  if (previousResponseId === null) return request.toJson({}, request.context);
  return request.toJson({ previous_response_id: previousResponseId }, request.newItems);
}

/** A null member is the same as none, which every server understands. */
function pick(parameters: Turn['parameters'], names: readonly string[]): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const name of names) {
    if (Object.hasOwn(parameters, name) && parameters[name] != null) picked[name] = parameters[name];
  }
  return picked;
}

/**
 * An upstream that does not store must give what a continuation needs: the encrypted reasoning. It is requested only where the client or
 * the model's list says that the model reasons: servers refuse it for others.
 */
function toInclude({ include, parameters, settings }: Turn): readonly string[] {
  const reasons = parameters.reasoning != null || settings.reasoning?.effort != null;
  return include.includes(ENCRYPTED_REASONING) || !reasons ? include : [...include, ENCRYPTED_REASONING];
}
