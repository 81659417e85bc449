import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';

import { compileConditions, findByMessage } from './conditions.js';

const EVIL = { when: { matches: '^(a+)+$' }, text: 'evil' };
const PLAIN = { when: 'aaa', text: 'plain' };
const WORDS = { when: { matches: 'weather.*(paris|lisbon)' }, text: 'words' };

afterEach(() => {
  jest.restoreAllMocks();
});

describe(findByMessage.name, () => {
  it.each([
    ['What is the weather in Paris?', [WORDS]],
    ['a'.repeat(50_000), [EVIL, PLAIN]],
    [`${'weather, '.repeat(5000)}Lisbon`, [WORDS]],
    ['Hello', []],
  ])('findByMessage finds the turns whose conditions match', (message, turns) => {
    expect(findByMessage(compileConditions([EVIL, PLAIN, WORDS]), message)).toEqual(turns);
  });

  it('findByMessage ignores all regular expressions after too many steps, however long they take', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    jest.spyOn(Date, 'now').mockReturnValue(0);
    const conditions = compileConditions([WORDS, EVIL, PLAIN]);
    expect(findByMessage(conditions, `weather in Paris ${'a'.repeat(100)}`)).toEqual([WORDS, PLAIN]);
    expect(findByMessage(conditions, `${'a'.repeat(60)}!`)).toEqual([PLAIN]);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('ignored the regular expressions of a script'));
  });
});
