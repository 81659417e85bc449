import type { UpstreamRequest } from './upstream-request.js';

/**
 * The JSON of `POST /responses`: the whole context, or the new items only if the upstream keeps the conversation and
 * `previousResponseId` is its name of the parent.
 */
export function toHttpBody(request: UpstreamRequest, previousResponseId: string | null): string {
  if (previousResponseId === null) return request.toJson({}, request.context);
  return request.toJson({ previous_response_id: previousResponseId }, request.newItems);
}
