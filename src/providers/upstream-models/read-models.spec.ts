import { describe, expect, it } from '@jest/globals';

import { readModels } from './read-models.js';

const LEVELS = [{ effort: 'low', description: 'Fast' }, { effort: 'high' }];

describe('the models of an upstream', () => {
  it.each<readonly [what: string, answer: unknown, ids: readonly string[]]>([
    ['data', { object: 'list', data: [{ id: 'a' }, { id: 'b' }] }, ['a', 'b']],
    ['a list alone', [{ id: 'a' }], ['a']],
    ['models of Codex', { models: [{ slug: 'gpt-5-codex' }] }, ['gpt-5-codex']],
    ['models of Codex beside an empty list', { data: [], models: [{ slug: 'gpt-5-codex' }] }, ['gpt-5-codex']],
    ['data before models', { data: [{ id: 'a' }], models: [{ slug: 'b' }] }, ['a']],
    ['two empty lists', { data: [], models: [] }, []],
    ['entries that are none', [null, 5, { id: '' }, { id: 'x'.repeat(257) }, { id: 'a' }], ['a']],
  ])('the models of an upstream are read from %s', (_, answer, ids) => {
    expect(readModels(answer, 'up').map(({ info }) => info.id)).toEqual(ids);
  });

  it.each([{}, { data: 'a' }, 'a', null])('the models of an upstream are missing in %j', (answer) => {
    expect(() => readModels(answer, 'up')).toThrow('the answer has no list of models');
  });

  it.each<readonly [what: string, entry: object, info: object]>([
    ['nothing else', {}, { ownedBy: 'up', created: 0 }],
    ['owner and time', { owned_by: 'openai', created: 7 }, { ownedBy: 'openai', created: 7 }],
    ['a window', { context_window: 272_000 }, { ownedBy: 'up', created: 0, contextWindow: 272_000 }],
    [
      'efforts',
      { supported_reasoning_levels: LEVELS, default_reasoning_level: 'high' },
      { ownedBy: 'up', created: 0, reasoningEfforts: ['low', 'high'], defaultReasoningEffort: 'high' },
    ],
    [
      'a default effort that it does not list',
      { supported_reasoning_levels: ['low'], default_reasoning_level: 'high' },
      { ownedBy: 'up', created: 0, reasoningEfforts: ['low'] },
    ],
    ['no efforts', { supported_reasoning_levels: [] }, { ownedBy: 'up', created: 0, reasoningEfforts: [] }],
  ])('an upstream may tell %s of a model', (_, entry, info) => {
    expect(readModels([{ id: 'a', ...entry }], 'up')).toEqual([
      { info: { id: 'a', ...info }, entry: { id: 'a', ...entry } },
    ]);
  });
});
