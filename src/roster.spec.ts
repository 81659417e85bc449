import { describe, expect, it } from '@jest/globals';

import { Roster } from './roster.js';

describe(Roster.name, () => {
  const member = (name: string): { readonly name: string } => ({ name });

  it('a roster has what was added and not taken', () => {
    const roster = new Roster<{ readonly name: string }>();
    const [a, b] = [roster.add(member('a')), roster.add(member('b'))];
    expect(roster.take(a)).toEqual(member('a'));
    expect([roster.size, [...roster]]).toEqual([1, [member('b')]]);
    expect(roster.take(a)).toBeUndefined();
    expect(roster.take(b)).toEqual(member('b'));
    expect([roster.size, [...roster]]).toEqual([0, []]);
  });

  it('a roster uses a place again', () => {
    const roster = new Roster<{ readonly name: string }>();
    const a = roster.add(member('a'));
    roster.take(a);
    expect(roster.add(member('b'))).toBe(a);
    expect([...roster]).toEqual([member('b')]);
  });
});
