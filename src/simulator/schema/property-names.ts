import { pickWord } from '../answer/prose.js';
import { fillSchema } from './fill-schema.js';
import type { SchemaFlattener } from './flatten-schema.js';
import { fitsString, hasKnownFormat, narrowString } from './narrow-value.js';
import { isExcluded } from './schema-exclusions.js';
import { listPatterns } from './schema-members.js';
import type { MergedSchema } from './merge-parts.js';
import { mergeParts } from './merge-parts.js';
import type { SchemaObject } from './schema-parts.js';
import { DeadEnd } from './schema-parts.js';
import type { SeededRandom } from '../seeded-random.js';
import { patternPrefix } from './string-patterns.js';

/** How often a name is made before its rules count as impossible. */
const MOST_TRIES = 10;
/** Means nothing to a shell, is no option, and leads out of nowhere. */
const HARMLESS = /^(?!.*\.\.)\w[\w.:@/+=#-]*$/;

/** A name for one more property, which the schema does not list; a word where its rules for names allow one. */
export function makeName(
  { parts }: MergedSchema,
  taken: ReadonlyMap<string, unknown>,
  flattener: SchemaFlattener,
): string {
  const { random } = flattener;
  const rules = mergeParts(flattener.flatten({ type: 'string', allOf: listNameRules(parts) }, true));
  if (rules.values !== undefined) {
    const left = rules.values.filter((name) => typeof name === 'string' && !taken.has(name) && fitsString(rules, name));
    if (left.length === 0) throw new DeadEnd('No name is left for a property.');
    return random.pick(left) as string;
  }
  let fallback: string | undefined;
  for (const name of tryNames(rules, taken.size, random)) {
    if (taken.has(name) || isExcluded(name, rules.excluded) || !fitsString(rules, name)) continue;
    if (HARMLESS.test(name)) return name;
    fallback ??= name;
  }
  if (fallback === undefined) throw new DeadEnd('No name was found for a property.');
  return fallback;
}

/** Where nothing but patterns is allowed, a name has one of them; elsewhere it still tells more than any other name. */
function listNameRules(parts: readonly SchemaObject[]): readonly unknown[] {
  const closed = parts.filter(({ additionalProperties }) => additionalProperties === false);
  const choices =
    closed.length > 0 ? closed.map(listPatterns) : [parts.flatMap(listPatterns)].filter(({ length }) => length > 0);
  return [
    ...parts.flatMap(({ propertyNames }) => (propertyNames === undefined ? [] : [propertyNames])),
    ...choices.map((patterns) => ({ anyOf: patterns.map((pattern) => ({ pattern })) })),
  ];
}

function* tryNames(rules: MergedSchema, index: number, random: SeededRandom): Generator<string> {
  const prefixes = ['', ...rules.patterns.map(patternPrefix)];
  if (!hasKnownFormat(rules)) {
    for (let tries = 0; tries <= MOST_TRIES; tries++) {
      const word = tries < MOST_TRIES ? pickWord(random) : `${pickWord(random)}_${index}`;
      yield* prefixes.map((prefix) => prefix + word);
    }
  }
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const made = String(fillSchema(narrowString(rules, random), random));
    yield* prefixes.map((prefix) => prefix + made);
    yield made + pickWord(random);
  }
}
