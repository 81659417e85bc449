import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { typeOfItem } from './input-item.js';

/** Only useful over a socket, where it asks for a warm-up. */
const PREWARM = 'prompt_cache_options.prewarm';

/** Unsupported features: ignoring them would change the meaning of the request (docs/decisions/2026-11-21-protocol-choices.md). */
const UNBUILT: readonly { readonly param: string; readonly isUsed: (request: CreateResponseRequest) => boolean }[] = [
  { param: 'prompt', isUsed: ({ prompt }) => prompt != null },
  { param: 'context_management', isUsed: ({ context_management }) => context_management != null },
  { param: 'moderation', isUsed: ({ moderation }) => moderation != null },
  { param: 'multi_agent', isUsed: ({ multi_agent }) => multi_agent?.enabled === true },
  {
    param: PREWARM,
    isUsed: ({ prompt_cache_options }) => prompt_cache_options?.prewarm === true,
  },
];

const UNBUILT_ITEMS: ReadonlySet<unknown> = new Set(['compaction_trigger']);

/** Refuses features that this service does not support yet. */
export function refuseUnbuiltFeatures(request: CreateResponseRequest, isWarmUp: boolean): void {
  for (const { param, isUsed } of UNBUILT) {
    if (isUsed(request) && !(isWarmUp && param === PREWARM)) {
      const message = `Unsupported parameter: '${param}' is not supported by this server.`;
      throw ApiError.of('unsupported_parameter', message, { param });
    }
  }
  if (request.input == null || typeof request.input === 'string') return;
  for (const [index, item] of request.input.entries()) {
    const type = typeOfItem(item);
    if (UNBUILT_ITEMS.has(type)) {
      const message = `Unsupported parameter: items of type '${String(type)}' are not supported by this server.`;
      throw ApiError.of('unsupported_parameter', message, { param: `input[${index}]` });
    }
  }
}
