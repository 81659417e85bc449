/** Where a page of a list begins, and how much of the list it holds. */
export interface PageRequest {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Exclusive: the page begins behind this id. An id that is not in the list is a fault of the caller. */
  readonly after?: string;
  /** Exclusive: the page ends in front of this id. Never together with `after`. */
  readonly before?: string;
}

/** Whether a page is reached by walking from the oldest to the newest, away from its cursor. */
export function isForward({ order, before }: Pick<PageRequest, 'order' | 'before'>): boolean {
  return (order === 'asc') === (before === undefined);
}

/** One page in the order that was asked for. */
export interface Page<T> {
  readonly data: readonly T[];
  /** Whether the list goes on in the direction that was asked for. A page may end early: responses can be large. */
  readonly hasMore: boolean;
}

/** Bytes of responses on one page; the first one is always there. */
export const PAGE_BYTES = 16 * 1024 * 1024;
