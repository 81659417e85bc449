import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { asTenant } from '../../src/access/index.js';
import { KeyRing, type OpenedSeal } from '../../src/context/seals/index.js';

const [key, other] = [randomBytes(32), randomBytes(32)];
const ring = new KeyRing([key]);
const tenant = asTenant('acme');

describe(KeyRing.name, () => {
  it('a key ring opens what it has sealed, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, name) => {
        const sealed = ring.seal(asTenant(name), 'compaction', text);
        expect(ring.open(asTenant(name), 'compaction', sealed)).toEqual({ text });
        expect(sealed).toMatch(/^antiphon1_[\w-]+$/);
      }),
    );
  });

  it('a key ring opens a text of 20 MB', () => {
    const text = 'ä'.repeat(10 * 1024 * 1024);
    const opened = ring.open(tenant, 'compaction', ring.seal(tenant, 'compaction', text));
    expect(typeof opened === 'object' && opened.text === text).toBe(true);
  });

  it('a seal is short, and never the same twice', () => {
    const [one, two] = [ring.seal(tenant, 'reasoning', 'Hm.'), ring.seal(tenant, 'reasoning', 'Hm.')];
    expect(one).not.toBe(two);
    expect(one.length).toBeLessThan(60);
  });

  it.each<[string, OpenedSeal, () => string]>([
    ['another tenant', 'altered', () => ring.seal(asTenant('other'), 'reasoning', 'Hm.')],
    ['another purpose', 'altered', () => ring.seal(tenant, 'compaction', 'Hm.')],
    ['a key that is gone', 'foreign', () => new KeyRing([other]).seal(tenant, 'reasoning', 'Hm.')],
    ['nobody', 'foreign', () => ''],
    ['another service', 'foreign', () => 'gAAAAABforeign'],
    ['an older version', 'foreign', () => `antiphon.reasoning.${btoa('Hm.')}`],
    ['somebody with only the prefix', 'foreign', () => 'antiphon1_'],
    ['somebody with only the prefix and the key', 'altered', () => ring.seal(tenant, 'reasoning', '').slice(0, 20)],
  ])('a key ring does not open a seal for or of %s: it is %s', (_, outcome, make) => {
    const sealed = make();
    expect(ring.open(tenant, 'reasoning', sealed)).toBe(outcome);
    expect(ring.knows(sealed)).toBe(outcome === 'altered');
  });

  it('a key ring tells tenants apart whose names contain each other', () => {
    const sealed = ring.seal(asTenant('a","b'), 'reasoning', 'Hm.');
    for (const name of ['a', 'b', 'a"', '"a","b"'])
      expect(ring.open(asTenant(name), 'reasoning', sealed)).toBe('altered');
  });

  it('a key ring opens nothing that was altered in any place, in any way', () => {
    const sealed = ring.seal(tenant, 'compaction', 'What was said before, at some length.');
    const place = fc.nat({ max: sealed.length - 1 });
    const letter = fc.string({
      minLength: 1,
      maxLength: 1,
      unit: fc.constantFrom('A', 'b', '0', '_', '-', '+', '/', '=', '.', ' ', '\n'),
    });
    fc.assert(
      fc.property(place, letter, fc.constantFrom('replace', 'insert', 'remove', 'cut'), (at, by, how) => {
        const rest = how === 'insert' ? sealed.slice(at) : how === 'cut' ? '' : sealed.slice(at + 1);
        const altered = sealed.slice(0, at) + (how === 'replace' || how === 'insert' ? by : '') + rest;
        fc.pre(altered !== sealed);
        expect(['altered', 'foreign']).toContain(ring.open(tenant, 'compaction', altered));
      }),
      { numRuns: 1000 },
    );
  });

  it('a key ring seals with the first key and opens with all', () => {
    const rotated = new KeyRing([other, key]);
    expect(rotated.open(tenant, 'reasoning', ring.seal(tenant, 'reasoning', 'old'))).toEqual({ text: 'old' });
    const sealed = rotated.seal(tenant, 'reasoning', 'new');
    expect(ring.open(tenant, 'reasoning', sealed)).toBe('foreign');
    expect(new KeyRing([other]).open(tenant, 'reasoning', sealed)).toEqual({ text: 'new' });
  });

  it('a key ring shows no key when it is logged', () => {
    const shown = inspect(ring, { depth: 10, showHidden: true });
    for (const encoding of ['hex', 'base64', 'base64url'] as const) expect(shown).not.toContain(key.toString(encoding));
    expect(shown).not.toContain(inspect(key).slice(8, 40));
  });
});
