import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';

/** Only useful over a socket, where it asks for a warm-up. */
const PREWARM = 'prompt_cache_options.prewarm';

/** Unsupported features: ignoring them would change the meaning of the request (docs/decisions/2026-11-21-protocol-choices.md). */
const UNBUILT: readonly { readonly param: string; readonly isUsed: (request: CreateResponseRequest) => boolean }[] = [
  { param: 'moderation', isUsed: ({ moderation }) => moderation != null },
  { param: 'multi_agent', isUsed: ({ multi_agent }) => multi_agent?.enabled === true },
  { param: 'input_transformations', isUsed: (request) => has(request, 'input_transformations') },
  {
    param: 'prompt_cache_options.comparison_response_id',
    isUsed: ({ prompt_cache_options }) => prompt_cache_options?.comparison_response_id != null,
  },
  {
    param: PREWARM,
    isUsed: ({ prompt_cache_options }) => prompt_cache_options?.prewarm === true,
  },
];

/** Refuses features that this service does not support yet. */
export function refuseUnbuiltFeatures(request: CreateResponseRequest, isWarmUp: boolean): void {
  for (const { param, isUsed } of UNBUILT) {
    if (isUsed(request) && !(isWarmUp && param === PREWARM)) {
      const message = `Unsupported parameter: '${param}' is not supported by this server.`;
      throw ApiError.of('unsupported_parameter', message, { param });
    }
  }
}

/** Members that the types of the SDK do not have yet. */
function has(request: object, name: string): boolean {
  return (Reflect.get(request, name) ?? null) !== null;
}
