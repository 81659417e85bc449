import type { ForeignItem } from '../../../protocol/index.js';
import type { Profile } from '../profile.js';
import type { Baseline } from './baseline.js';
import { digestItems, NO_ITEMS } from './item-digest.js';
import type { UpstreamRequest } from './upstream-request.js';

/**
 * The baseline after an answer: the logical request, also when only its new items were sent, and in profiles of today the items that
 * the upstream returned, in order.
 */
export function baselineAfter(
  request: UpstreamRequest,
  responseId: string,
  output: readonly ForeignItem[],
  profile: Profile,
): Baseline {
  const { extended } = request;
  const known = extended ?? { count: 0, items: NO_ITEMS };
  const input = extended === null ? request.context : request.newItems;
  const returned = profile.baseline === 'input' ? [] : request.sendable(output);
  return {
    responseId,
    members: request.fixedDigest,
    count: known.count + input.length + returned.length,
    items: digestItems(digestItems(known.items, input), returned),
  };
}
