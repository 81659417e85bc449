import type { CheckOptions } from './check.js';
import { didYouMean } from './did-you-mean.js';
import type { Violation } from './violation.js';
import { unknownMember } from './violations.js';

/**
 * The violation of the first member that a closed object must not have, or null (protocol §2). Suggestions are known
 * members that the object does not have yet.
 *
 * @param accepted further members, beyond the known ones
 */
export function refuseUnknown(
  value: object,
  known: ReadonlySet<string>,
  { unknownParameters, typos, anywhere }: CheckOptions,
  accepted?: ReadonlySet<string>,
): Violation | null {
  if (unknownParameters === 'ignore') return null;
  // Not Object.keys: most objects have no unknown member, and need no array to show it.
  for (const member in value) {
    if (known.has(member) || accepted?.has(member) === true || anywhere?.has(member) === true) continue;
    if (unknownParameters === 'typos') {
      if (typos === undefined || typos.isOver) return null;
      if (!typos.isTypo(member, known)) continue;
    }
    const unused = [...known].filter((name) => !Object.hasOwn(value, name));
    return unknownMember(member, didYouMean(member, unused));
  }
  return null;
}
