import { describe, expect, it } from '@jest/globals';

import { type AttributeFilter, attributeFilter, passes } from './attribute-filter.js';

const ATTRIBUTES = { year: 2026, region: 'eu', draft: false };
const OPTIONS = { unknownParameters: 'ignore' } as const;

const is = (type: string, key: string, value: unknown): AttributeFilter => ({ type, key, value }) as AttributeFilter;

describe('a filter of attributes', () => {
  it.each<[AttributeFilter, boolean]>([
    [is('eq', 'year', 2026), true],
    [is('eq', 'year', '2026'), false],
    [is('eq', 'draft', false), true],
    [is('ne', 'region', 'us'), true],
    [is('ne', 'region', 'eu'), false],
    [is('ne', 'missing', 'eu'), true],
    [is('gt', 'year', 2025), true],
    [is('gt', 'year', 2026), false],
    [is('gte', 'year', 2026), true],
    [is('lt', 'region', 'us'), true],
    [is('lt', 'year', '3000'), false],
    [is('lte', 'year', 2026), true],
    [is('lte', 'missing', 2026), false],
    [is('in', 'region', ['us', 'eu']), true],
    [is('in', 'region', []), false],
    [is('nin', 'region', ['us', 'eu']), false],
    [is('nin', 'missing', ['us']), true],
    [is('eq', 'toString', 1), false],
    [{ type: 'and', filters: [] }, true],
    [{ type: 'or', filters: [] }, false],
    [{ type: 'and', filters: [is('eq', 'year', 2026), { type: 'or', filters: [is('eq', 'region', 'eu')] }] }, true],
    [{ type: 'and', filters: [is('eq', 'year', 2026), is('eq', 'region', 'us')] }, false],
  ])('%j: %s', (filter, isPassed) => {
    expect(attributeFilter(filter, OPTIONS)).toBeNull();
    expect(passes(ATTRIBUTES, filter)).toBe(isPassed);
  });

  it.each<[unknown, string]>([
    [[], 'filters'],
    [{ key: 'a', value: 1 }, 'filters.type'],
    [is('like', 'a', 'b'), 'filters.type'],
    [{ type: 'eq', value: 1 }, 'filters.key'],
    [is('eq', 'a', null), 'filters.value'],
    [is('gt', 'a', true), 'filters.value'],
    [is('in', 'a', 'b'), 'filters.value'],
    [is('in', 'a', ['b', {}]), 'filters.value[1]'],
    [{ type: 'and', filters: [is('eq', 'a', 1), { type: 'or' }] }, 'filters.filters[1].filters'],
    [nested(9), `filters${'.filters[0]'.repeat(7)}.filters`],
  ])('a filter of attributes refuses %j', (filter, param) => {
    expect(attributeFilter(filter, OPTIONS)?.under('filters').toError().param).toBe(param);
  });

  it.each<[unknown, string]>([
    [{}, 'filters.type'],
    [{ type: 'eq' }, 'filters.key'],
    [{ type: 'eq', key: 'a' }, 'filters.value'],
    [{ type: 'in', key: 'a' }, 'filters.value'],
    [{ type: 'or', filters: [{ type: 'and' }] }, 'filters.filters[0].filters'],
  ])('a filter of attributes says what is missing in %j', (filter, param) => {
    expect(attributeFilter(filter, OPTIONS)?.under('filters').toError()).toMatchObject({
      code: 'missing_required_parameter',
      message: `Missing required parameter: '${param}'.`,
    });
  });
});

function nested(levels: number): AttributeFilter {
  return levels === 1 ? is('eq', 'a', 1) : { type: 'and', filters: [nested(levels - 1)] };
}
