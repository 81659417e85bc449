import { ApiError } from './errors.js';

/** Whether an item asks for a compaction (protocol §6.11). */
export function isCompactionTrigger({ type }: { readonly type?: unknown }): boolean {
  return type === 'compaction_trigger';
}

/**
 * Refuses a trigger that is not the last item of `input`: what follows it would be lost or answered, and no one knows which. Among the
 * `items` of a conversation there is none at all: only a turn compacts. Throws ApiError 400 `invalid_value`.
 */
export function refuseMisplacedTrigger(
  items: string | readonly { readonly type?: unknown }[] | null | undefined,
  param: 'input' | 'items' = 'input',
): void {
  if (items == null || typeof items === 'string') return;
  const index = items.findIndex(isCompactionTrigger);
  if (index === -1 || (param === 'input' && index === items.length - 1)) return;
  const message =
    param === 'input'
      ? "Invalid value: an item of type 'compaction_trigger' must be the last item of 'input'."
      : "Items of type 'compaction_trigger' cannot be added to a conversation. Send it as the input of a response.";
  throw ApiError.of('invalid_value', message, { param: `${param}[${index}]` });
}
