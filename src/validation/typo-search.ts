import { isNearMiss } from './did-you-mean.js';
import type { IgnoredMembers } from './ignored-members.js';
import { isVendorParameter } from './vendor-parameters.js';

/** How many unknown names of one request are compared with the known ones; the rest are ignored. */
const MAX_COMPARED = 16;

/**
 * Tells misspelt members from ones that the API does not know. For one request: a request with a million unknown names
 * costs no more than reading them.
 */
export class TypoSearch {
  private left = MAX_COMPARED;

  constructor(private readonly ignored: IgnoredMembers) {}

  /** Whether no further names are compared. */
  get isOver(): boolean {
    return this.left === 0;
  }

  /** Whether an unknown member is a known one misspelt. If not, it is remembered as ignored. */
  isTypo(name: string, known: ReadonlySet<string>): boolean {
    if (this.isOver || this.ignored.has(name, known)) return false;
    this.left--;
    if (!isVendorParameter(name) && isNearMiss(name, known)) return true;
    this.ignored.add(name, known);
    return false;
  }
}
