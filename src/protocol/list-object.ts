import type { ListObject } from './wire.js';

/** A page as a list envelope (protocol §1.1). */
export function toListObject<T extends { readonly id: string }>(data: readonly T[], hasMore: boolean): ListObject<T> {
  return {
    object: 'list',
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}
