import type { Attributes } from '../../state/index.js';
import {
  type Check,
  described,
  isObject,
  type JsonSchema,
  unknownValue,
  type Violation,
  wrongType,
} from '../../validation/index.js';

/** Compares one attribute. A file without it is unequal to everything, and neither greater nor less. */
interface AttributeComparison {
  readonly type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'nin';
  readonly key: string;
  /** A list with `in` and `nin`. */
  readonly value: AttributeValue | readonly AttributeValue[];
}

/** Joins filters. `and` of none holds, `or` of none does not. */
interface CompoundFilter {
  readonly type: 'and' | 'or';
  readonly filters: readonly AttributeFilter[];
}

/** Which files a search may find. */
export type AttributeFilter = AttributeComparison | CompoundFilter;

type AttributeValue = Attributes[string];

/** Most levels of filters in filters. */
const MOST_LEVELS = 8;

/** Most comparisons of a filter; each value of a list is one. All files of a store are compared. */
const MOST_COMPARISONS = 1000;

const LISTS: ReadonlySet<string> = new Set(['in', 'nin']);
const ORDERS: ReadonlySet<string> = new Set(['gt', 'gte', 'lt', 'lte']);
const COMPARISONS = ['eq', 'ne', ...ORDERS, ...LISTS];
const COMPOUNDS = ['and', 'or'];

/** Whether attributes pass a filter. Values of different types are unequal, and not ordered; texts are ordered by their UTF-16 units. */
export function passes(attributes: Attributes, filter: AttributeFilter): boolean {
  if (isCompound(filter)) {
    const inner = (one: AttributeFilter): boolean => passes(attributes, one);
    return filter.type === 'and' ? filter.filters.every(inner) : filter.filters.some(inner);
  }
  const { type, key, value } = filter;
  const own = Object.hasOwn(attributes, key) ? attributes[key] : undefined;
  if (type === 'eq') return own === value;
  if (type === 'ne') return own !== value;
  if (type === 'in' || type === 'nin') return listOf(value).some((one) => one === own) === (type === 'in');
  if (own === undefined || typeof own !== typeof value) return false;
  const other = value as AttributeValue;
  if (type === 'gt') return own > other;
  if (type === 'gte') return own >= other;
  return type === 'lt' ? own < other : own <= other;
}

const VALUE: JsonSchema = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };

/** Checks a filter of a client. */
export const attributeFilter: Check = described(
  (value) => {
    const violation = findViolation(value, 1);
    if (violation !== null || comparisonsIn(value as AttributeFilter) <= MOST_COMPARISONS) return violation;
    return wrongType(`a filter with at most ${MOST_COMPARISONS} comparisons`, value);
  },
  (definitions) =>
    definitions.refer('AttributeFilter', passes, () => ({
      anyOf: [
        {
          type: 'object',
          required: ['type', 'key', 'value'],
          properties: {
            type: { enum: COMPARISONS },
            key: { type: 'string' },
            value: { anyOf: [VALUE, { type: 'array', items: VALUE }] },
          },
        },
        {
          type: 'object',
          required: ['type', 'filters'],
          properties: {
            type: { enum: COMPOUNDS },
            filters: { type: 'array', items: { $ref: '#/components/schemas/AttributeFilter' } },
          },
        },
      ],
    })),
);

/** By its type alone, as it is checked: other members may be there. */
function isCompound(filter: AttributeFilter): filter is CompoundFilter {
  return COMPOUNDS.includes(filter.type);
}

function comparisonsIn(filter: AttributeFilter): number {
  if (!isCompound(filter)) return Array.isArray(filter.value) ? Math.max(1, filter.value.length) : 1;
  return filter.filters.reduce((sum, one) => sum + comparisonsIn(one), 1);
}

function listOf(value: AttributeComparison['value']): readonly AttributeValue[] {
  return typeof value === 'object' ? value : [value];
}

function findViolation(filter: unknown, level: number): Violation | null {
  if (!isObject(filter)) return wrongType('a filter', filter);
  const { type, key, value, filters } = filter;
  if (typeof type !== 'string') return wrongType('a string', type).under('type');
  if (COMPOUNDS.includes(type)) {
    if (!Array.isArray(filters)) return wrongType('an array of filters', filters).under('filters');
    if (level === MOST_LEVELS) return wrongType(`at most ${MOST_LEVELS} levels of filters`, filters).under('filters');
    return firstViolation(filters, (inner) => findViolation(inner, level + 1), 'filters');
  }
  if (!COMPARISONS.includes(type)) return unknownValue(type, [...COMPARISONS, ...COMPOUNDS]).under('type');
  if (typeof key !== 'string') return wrongType('a string', key).under('key');
  if (LISTS.has(type)) {
    if (!Array.isArray(value)) return wrongType('an array', value).under('value');
    return firstViolation(value, (one) => (isValue(one) ? null : wrongValue(one)), 'value');
  }
  if (ORDERS.has(type) && typeof value === 'boolean') return wrongType('a number or a string', value).under('value');
  return isValue(value) ? null : wrongValue(value).under('value');
}

function firstViolation(
  list: readonly unknown[],
  check: (value: unknown) => Violation | null,
  member: string,
): Violation | null {
  for (const [index, value] of list.entries()) {
    const violation = check(value);
    if (violation !== null) return violation.at(index).under(member);
  }
  return null;
}

function isValue(value: unknown): value is AttributeValue {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function wrongValue(value: unknown): Violation {
  return wrongType('a string, a number or a boolean', value);
}
