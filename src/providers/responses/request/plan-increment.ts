import type { Item } from '../../../protocol/index.js';
import type { Profile } from '../profile.js';
import type { Baseline } from './baseline.js';
import { digestItems, NO_ITEMS } from './item-digest.js';
import type { UpstreamRequest } from './upstream-request.js';

/** The items that an incremental request has. */
export interface Increment {
  readonly items: readonly Item[];
  /** Whether the context was not looked at, because the request continues the very response that the socket answered last. */
  readonly isKnown: boolean;
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
  const increment = continuation(request, baseline, profile) ?? extension(request, baseline);
  return increment === null || (increment.items.length === 0 && !profile.allowsEmptySuffix) ? null : increment;
}

/** The shortcut: a continuation of the response that the baseline ends with. Nothing old is compared, or even built. */
function continuation(request: UpstreamRequest, baseline: Baseline, profile: Profile): Increment | null {
  const isKnown =
    profile.baseline === 'input and output' && request.hasWholeContext && request.parentId === baseline.responseId;
  return isKnown ? { items: request.newItems, isKnown } : null;
}

function extension(request: UpstreamRequest, { count, items }: Baseline): Increment | null {
  const { context } = request;
  if (context.length < count || digestItems(NO_ITEMS, context.slice(0, count)) !== items) return null;
  return { items: context.slice(count), isKnown: false };
}
