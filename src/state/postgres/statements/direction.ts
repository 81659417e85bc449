import { isForward, type PageRequest } from '../../page.js';

/** How rows are walked to a page: what is behind a cursor compares so with it, and comes in this order. */
export type Direction = readonly [comparison: '>', order: 'ASC'] | readonly [comparison: '<', order: 'DESC'];

/** The direction in which a page lies from its cursor. */
export function directionOf(page: Pick<PageRequest, 'order' | 'before'>): Direction {
  return isForward(page) ? ['>', 'ASC'] : ['<', 'DESC'];
}
