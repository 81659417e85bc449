import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { ask, listModels, retrieveModel, whoAnswers } from '../support/routing/ask.js';
import { startRoutedService } from '../support/routing/routed-service.js';

const MEMBERS_OF_OBJECTS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'];

const STRANGE = [
  ...MEMBERS_OF_OBJECTS,
  '.*',
  'a|b',
  '^$',
  '(?:',
  '[a-z]+',
  '\\d',
  'a.b',
  'café ☕ 模型 🦙',
  'e\u0301',
  '../../etc/passwd',
  'a//b/',
  '%2e%2e',
  'a?b#c&d=e',
  '"quoted"',
  '<script>',
  '{"json":true}',
  '$HOME',
  'null',
  '0',
  ' ',
  'model:latest@sha256:0',
];

describe('strange names', () => {
  const service = useService(() =>
    startRoutedService({
      upstreams: { exact: {}, pattern: {}, lists: {} },
      models: [
        ...STRANGE.map((name) => ({ name, provider: 'exact' })),
        { prefix: '.+/', strip: true, provider: 'pattern' },
        { prefix: '🦙', strip: true, provider: 'pattern' },
        { glob: 'a.c-*', provider: 'pattern' },
        { glob: '日本-*', provider: 'pattern' },
        { glob: '!*', provider: 'pattern', model: 'never' },
        { glob: '^begin*end$', provider: 'pattern' },
      ],
      prepare: (upstream) => upstream('lists').list([{ id: 'listed/__proto__' }, { id: 'isPrototypeOf' }]),
    }),
  );

  it.each(STRANGE)('strange names are what they are: %j', async (name) => {
    expect(await ask(service, name)).toEqual({ by: 'exact', as: name, echoed: name });
    expect((await listModels(service)).filter(({ id }) => id === name)).toHaveLength(1);
  });

  it.each(['__proto__', 'constructor', 'a//b/', 'café ☕ 模型 🦙', '%2e%2e', 'a?b#c&d=e', '<script>'])(
    'strange names can be looked up: %s',
    async (name) => {
      expect(await retrieveModel(service, name)).toMatchObject({ status: 200, body: { id: name } });
    },
  );

  it.each<readonly [name: string, by: string]>([
    ['.+/x', 'pattern'],
    ['x/x', 'model_not_found'],
    ['a.c-1', 'pattern'],
    ['abc-1', 'model_not_found'],
    ['日本-語/☕', 'pattern'],
    ['^begin and end$', 'pattern'],
    ['begin and end', 'model_not_found'],
    ['isPrototypeOf', 'lists'],
    ['listed/__proto__', 'lists'],
    ['listed/constructor', 'model_not_found'],
    ['propertyIsEnumerable', 'model_not_found'],
    ['__defineGetter__', 'model_not_found'],
    // Letters that look the same are others.
    ['\u00e9', 'model_not_found'],
    ['caf\u0065\u0301 ☕ 模型 🦙', 'model_not_found'],
  ])('strange names in patterns are letters: %s goes to %s', async (name, by) => {
    expect(await whoAnswers(service, name)).toBe(by);
  });

  it('strange names are cut behind whole characters', async () => {
    expect(await ask(service, '🦙🦙')).toEqual({ by: 'pattern', as: '🦙', echoed: '🦙🦙' });
  });

  it.each(['', ' \t', '\n', 'a\nb', 'a\u0000b', '\uD800'])(
    'names that are hardly any are refused or not there: %j',
    async (name) => {
      expect(await whoAnswers(service, name)).toBe('model_not_found');
    },
  );
});

describe('long names', () => {
  const LONG = `${'n'.repeat(255)}!`;
  const LONGER = `${'n'.repeat(256)}!`;
  const service = useService(() =>
    startRoutedService({
      upstreams: { exact: {}, pattern: {}, lists: {} },
      models: [
        { name: `exact-${LONGER}`, provider: 'exact' },
        { prefix: 'n', provider: 'pattern' },
      ],
      prepare: (upstream) => upstream('lists').list([{ id: `listed-${LONGER}` }, { id: 'fine' }]),
    }),
  );

  it('long names are routed up to 256 characters', async () => {
    expect(await ask(service, LONG)).toEqual({ by: 'pattern', as: LONG, echoed: LONG });
  });

  it('long names match no pattern beyond 256 characters', async () => {
    expect(await whoAnswers(service, LONGER)).toBe('model_not_found');
  });

  it('long names are found whatever their length if the file has them', async () => {
    expect(await whoAnswers(service, `exact-${LONGER}`)).toBe('exact');
  });

  it('long names are left out of what upstreams list', async () => {
    expect((await listModels(service)).map(({ id }) => id)).toEqual([`exact-${LONGER}`, 'fine']);
    expect(await whoAnswers(service, `listed-${LONGER}`)).toBe('model_not_found');
  });

  it('long names are refused beyond 1024 characters', async () => {
    expect(await whoAnswers(service, 'n'.repeat(1025))).toBe('string_above_max_length');
  });
});
