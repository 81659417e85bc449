import {
  isSealedReasoning,
  type Item,
  withoutEarlierReasoning,
  withoutOpaqueData,
  withoutSeal,
} from '../../protocol/index.js';
import type { Turn } from '../turn.js';
import type { Target } from './target.js';

/** Turns items into those that a target is given. */
export type ItemView = (items: readonly Item[]) => readonly Item[];

/** The route of a turn. */
export interface Route {
  /** The target that was chosen first. */
  readonly chosen: Target;
  /** Whether the service leaves `reasoning.context` to the route, because a target applies it itself. */
  readonly leavesForgetting: boolean;
}

/**
 * What a target is given of a turn. Reasoning that an upstream has encrypted is only for that upstream: another one gets its text, or
 * nothing; nor is opaque data for a target that does not take it. Which one it was is known of a response that is continued, by who has answered it; of items that the client sends, it is
 * taken to be the target that was chosen first. The service
 * has left out what `reasoning.context` forgets, unless one of the targets does this itself: then the others get it from here.
 */
export function viewOf(target: Target, { parent, settings }: Turn, { chosen, leavesForgetting }: Route): ItemView {
  const author = parent?.origin?.provider ?? chosen.providerName;
  const isForeign = author !== target.providerName;
  const forgets =
    leavesForgetting && settings.reasoning?.context === 'current_turn' && !target.provider.readsForeignSeals;
  return (items) => {
    const readable = isForeign && items.some(isSealedReasoning) ? items.flatMap(toReadable) : items;
    const taken = target.provider.takesOpaqueData ? readable : withoutOpaqueData(readable);
    return forgets ? withoutEarlierReasoning(taken) : taken;
  };
}

function toReadable(item: Item): readonly Item[] {
  if (!isSealedReasoning(item)) return [item];
  const readable = withoutSeal(item);
  return readable === undefined ? [] : [readable];
}
