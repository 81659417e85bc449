import { describe, expect, it } from '@jest/globals';

import { Environment } from '../../src/index.js';
import { readText } from './pages.js';

const ROW = /^\| [^|]+ \| `(?<name>[A-Z_]+)` \| (?:`(?<value>[^`]+)`|(?<words>[^|]+)) \| [^|]+ \|$/gm;

describe('docs/limits.md', () => {
  const text = readText('docs/limits.md');
  const rows = [...text.matchAll(ROW)].map(({ groups = {} }) => groups);
  const defaults = new Environment() as unknown as Readonly<Record<string, unknown>>;

  it.each(rows)('docs/limits.md has the default of $name', ({ name = '', value }) => {
    // Words stand for 0: no limit.
    expect(String(defaults[name])).toBe(value ?? '0');
  });

  it('docs/limits.md names every variable that bounds something', () => {
    const bounds = Object.keys(defaults).filter((name) => /_(?:MAX|LIMIT|TOTAL)_|^MAX_|_MAX$/.test(name));
    // A bound of another bound.
    expect(bounds.filter((name) => !text.includes(`\`${name}\``) && name !== 'RESPONSE_TTL_MAX')).toEqual([]);
  });
});
