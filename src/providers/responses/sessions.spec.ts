import { describe, expect, it } from '@jest/globals';

import { Sessions } from './sessions.js';

const NOW = 1_800_000_000_000;

describe('a session', () => {
  const open = (healAfterMs: number | null = null) => new Sessions(healAfterMs);

  it('§1.2 falls back to HTTP once and for good', () => {
    const session = open().of('one');
    expect(session.hasFallenBack(NOW)).toBe(false);
    expect([session.fallBack(NOW), session.fallBack(NOW), session.fallBack(NOW + 1)]).toEqual([true, false, false]);
    expect(session.hasFallenBack(NOW + 365 * 24 * 60 * 60 * 1000)).toBe(true);
  });

  it('§1.2 falls back alone: other conversations go on over WebSockets', () => {
    const sessions = open();
    sessions.of('one').fallBack(NOW);
    expect([sessions.of('one').hasFallenBack(NOW), sessions.of('two').hasFallenBack(NOW)]).toEqual([true, false]);
  });

  it('a session heals after a cool-down where that is configured', () => {
    const session = open(1000).of('one');
    session.fallBack(NOW);
    expect([session.hasFallenBack(NOW + 999), session.hasFallenBack(NOW + 1000)]).toEqual([true, false]);
    expect(session.fallBack(NOW + 1000)).toBe(true);
  });

  it('§3.1 keeps the first state of a turn, and no other turn sees it', () => {
    const sessions = open();
    sessions.keepTurnState('resp_1', 'first');
    sessions.keepTurnState('resp_1', 'second');
    expect([sessions.turnStateOf('resp_1'), sessions.turnStateOf('resp_2')]).toEqual(['first', null]);
  });

  it('§3.1 keeps the states of a thousand turns', () => {
    const sessions = open();
    for (let turn = 0; turn <= 1000; turn += 1) sessions.keepTurnState(`resp_${turn}`, `state ${turn}`);
    expect([sessions.turnStateOf('resp_0'), sessions.turnStateOf('resp_1')]).toEqual([null, 'state 1']);
  });

  it('a session is forgotten when ten thousand others were used since', () => {
    const sessions = open();
    sessions.of('one').fallBack(NOW);
    for (let other = 0; other < 9_999; other += 1) sessions.of(`other ${other}`);
    expect(sessions.of('one').hasFallenBack(NOW)).toBe(true);
    for (let other = 0; other < 10_000; other += 1) sessions.of(`another ${other}`);
    expect(sessions.of('one').hasFallenBack(NOW)).toBe(false);
  });
});
