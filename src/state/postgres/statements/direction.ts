import { isForward, type PageRequest } from '../../page.js';

/** The comparison with the cursor and the order of rows. */
export type Direction = readonly [comparison: '>', order: 'ASC'] | readonly [comparison: '<', order: 'DESC'];

/** The direction of a page from its cursor. */
export function directionOf(page: Pick<PageRequest, 'order' | 'before'>): Direction {
  return isForward(page) ? ['>', 'ASC'] : ['<', 'DESC'];
}
