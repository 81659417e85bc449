import type { Turn } from '../../providers/index.js';

/** How a turn asks for compaction (protocol §6.11). */
export type CompactionRequest =
  /** The last input item of the turn is a `compaction_trigger`: the response is a compaction item and nothing else. */
  | { readonly kind: 'trigger' }
  /** `context_management`: a context beyond the threshold is compacted before the model goes on. Null: the default threshold. */
  | { readonly kind: 'threshold'; readonly tokens: number | null };

const TRIGGER: CompactionRequest = { kind: 'trigger' };

/** How a turn asks for compaction; null if it does not. */
export function compactionOf({ input, parameters }: Pick<Turn, 'input' | 'parameters'>): CompactionRequest | null {
  if (input.at(-1)?.type === 'compaction_trigger') return TRIGGER;
  const asked = parameters.context_management?.find(({ type }) => type === 'compaction');
  return asked === undefined ? null : { kind: 'threshold', tokens: asked.compact_threshold ?? null };
}
