import { isNearMiss } from './did-you-mean.js';
import { isVendorParameter } from './vendor-parameters.js';
import { clip } from './wording.js';

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

/** How many names are remembered, over all classes. Clients choose the names, so their number must be bounded. */
const MAX_NAMES = 256;

/** The longest name that is remembered and reported one by one. */
const LONGEST_NAME = 128;

/** The unknown members that were ignored, so that each is judged and reported once per process. Bounded. */
export class IgnoredMembers {
  private readonly byClass = new Map<ReadonlySet<string>, Set<string>>();
  private count = 0;

  /** @param report is called once per name, with the name clipped */
  constructor(private readonly report: (name: string) => void) {}

  /** Whether objects with these known members have had this unknown one before. */
  has(name: string, known: ReadonlySet<string>): boolean {
    return this.byClass.get(known)?.has(name) === true;
  }

  /** Remembers and reports a name while there is room; longer names and further ones are ignored in silence. */
  add(name: string, known: ReadonlySet<string>): void {
    if (this.count === MAX_NAMES || name.length > LONGEST_NAME) return;
    let names = this.byClass.get(known);
    if (names === undefined) this.byClass.set(known, (names = new Set()));
    names.add(name);
    this.count++;
    this.report(clip(name));
  }
}
