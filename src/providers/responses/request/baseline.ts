import type { ForeignItem, Item } from '../../../protocol/index.js';
import type { Profile } from '../profile.js';
import { digestItems, type ItemList, NO_ITEMS } from './item-digest.js';
import type { UpstreamRequest } from './upstream-request.js';

/** What a socket's server knows after an answer: what the next request may extend. Digests only, whatever the conversation's length. */
export interface Baseline extends ItemList {
  /** The upstream's id of the answer. */
  readonly responseId: string;
  /** Digest of the members that a continuation repeats. */
  readonly members: string;
  /** The last of the items: those that the upstream returned; none in the profile of February 2026. */
  readonly returned: ItemList;
}

/** The items that an incremental request has. */
export interface Increment {
  readonly items: readonly Item[];
  /** Whether only the end of the context was compared, because the request continues the response that the socket answered last. */
  readonly isContinuation: boolean;
}

/**
 * The baseline after an answer: the logical request, also when only its new items were sent, and in the profile of today the items that
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
    returned: { count: returned.length, items: digestItems(NO_ITEMS, returned) },
  };
}

/**
 * The rule of incremental requests. What a socket's server knows (the baseline) can be extended if
 *
 * 1. all members beside the input are equal; `client_metadata`, `stream_options` and `access_programs` are not compared;
 * 2. the new input begins with the baseline, item by item: the input of the last request, with the items it returned or, in the
 *    profile of February 2026, without them;
 * 3. it is longer; or in today's profile as long, which asks the model to go on.
 *
 * Returns the items after the baseline, or null if the whole context must be sent.
 */
export function planIncrement(request: UpstreamRequest, baseline: Baseline | null, profile: Profile): Increment | null {
  if (baseline === null || baseline.members !== request.fixedDigest) return null;
  const increment =
    profile.baseline === 'input and output' && request.continues(baseline.responseId)
      ? continuation(request, baseline)
      : extension(request, baseline);
  return increment === null || (increment.items.length === 0 && !profile.allowsEmptySuffix) ? null : increment;
}

/**
 * The shortcut for a continuation of the response that the baseline ends with: its input is known, but what it returned may have become
 * something else in the transcript, or nothing. Compares the number of items, and the returned ones.
 */
function continuation({ context, newItems }: UpstreamRequest, { count, returned }: Baseline): Increment | null {
  const end = context.length - newItems.length;
  if (end !== count || digestItems(NO_ITEMS, context.slice(end - returned.count, end)) !== returned.items) return null;
  return { items: newItems, isContinuation: true };
}

function extension({ context }: UpstreamRequest, { count, items }: Baseline): Increment | null {
  if (context.length < count || digestItems(NO_ITEMS, context.slice(0, count)) !== items) return null;
  return { items: context.slice(count), isContinuation: false };
}
