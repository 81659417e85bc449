import { beforeAll, describe, expect, it } from '@jest/globals';

import { expectLine, faultsOfFiles, type ScriptContent } from '../support/script-files.js';

/** A script whose only turn is this. */
const turn = (members: object): ScriptContent => ({ turns: [members] });
const step = (members: object): ScriptContent => turn({ steps: [{ text: 'first' }, members] });
const failing = (error: unknown): ScriptContent => turn({ text: 'x', error });

/** Scripts that say what no script can, and what the line has to name. */
const WRONG: readonly (readonly [what: string, content: ScriptContent | string, place: string, more?: RegExp])[] = [
  ['no turns', {}, 'the file', /turns/],
  ['an empty list of turns', { turns: [] }, 'turns'],
  ['turns that are no list', { turns: { text: 'one' } }, 'turns', /array/],
  ['a list at the top', '[{"text":"one"}]', 'the file', /object/],
  ['a text at the top', '"turns"', 'the file', /object/],
  ['a number at the top', '5', 'the file', /object/],
  ['null at the top', 'null', 'the file', /object/],
  ['an unknown setting', { turns: [{ text: 'one' }], repeat: true }, 'the file', /repeat/],
  ['an unknown match', { match: 'last', turns: [{ text: 'one' }] }, 'match', /last_user_message/],
  ['an unknown advance', { advance: 'never', turns: [{ text: 'one' }] }, 'advance', /conversation/],
  ['an unknown on_exhausted', { on_exhausted: 'stop', turns: [{ text: 'one' }] }, 'on_exhausted', /repeat_last/],
  ['an empty model', { model: '', turns: [{ text: 'one' }] }, 'model'],
  ['a model that is a number', { model: 5, turns: [{ text: 'one' }] }, 'model', /string/],
  ['a turn that is a text', { turns: [{ text: 'one' }, 'two'] }, 'turns[1]', /object/],
  ['a turn with nothing in it', { turns: [{ text: 'one' }, {}] }, 'turns[1]'],
  ['an unknown member of a turn', turn({ txt: 'one' }), 'turns[0]', /txt/],
  ['a text that is a number', turn({ text: 5 }), 'turns[0].text', /string/],
  ['a delta that is a number', turn({ text: ['one', 2] }), 'turns[0].text[1]', /string/],
  ['a delay below zero', turn({ delay: -1, text: 'x' }), 'turns[0].delay', />= 0/],
  ['a delay in words', turn({ delay: '1s', text: 'x' }), 'turns[0].delay', /number/],
  ['a cut that is not', turn({ cut: false }), 'turns[0].cut'],
  ['an unknown finish', turn({ text: 'x', finish: 'tool_calls' }), 'turns[0].finish', /length/],
  ['calls that are no list', turn({ calls: { name: 'look' } }), 'turns[0].calls', /array/],
  ['a call without a name', turn({ calls: [{ arguments: {} }] }), 'turns[0].calls[0]', /name/],
  ['an unknown member of a call', turn({ calls: [{ name: 'look', args: {} }] }), 'turns[0].calls[0]', /args/],
  ['arguments that are a list', turn({ calls: [{ name: 'x', arguments: [] }] }), 'turns[0].calls[0].arguments'],
  [
    'arguments and input',
    turn({ calls: [{ name: 'x', arguments: {}, input: 'y' }] }),
    'turns[0].calls[0]',
    /arguments.*input/,
  ],
  ['an unknown kind', failing('explosion'), 'turns[0].error', /rate_limit, server_error, unavailable/],
  ['an unknown kind in an object', failing({ kind: 'explosion' }), 'turns[0].error.kind', /rate_limit/],
  ['an error without kind and code', failing({ message: 'No.' }), 'turns[0].error', /kind|code/],
  ['an unknown member of an error', failing({ kind: 'rate_limit', retry: 1 }), 'turns[0].error', /retry\b/],
  ['a status that is none of an error', failing({ code: 'x', status: 200 }), 'turns[0].error.status', />= 400/],
  ['a status beyond all', failing({ code: 'x', status: 600 }), 'turns[0].error.status', /<= 599/],
  ['a status in words', failing({ code: 'x', status: '500' }), 'turns[0].error.status', /integer/],
  ['a wait below zero', failing({ kind: 'rate_limit', retry_after: -1 }), 'turns[0].error.retry_after', />= 0/],
  ['two things in one step', step({ text: 'x', call: { name: 'y' } }), 'turns[0].steps[1]', /exactly one/],
  ['a step with nothing in it', step({}), 'turns[0].steps[1]', /exactly one/],
  ['a step that is a text', turn({ steps: ['x'] }), 'turns[0].steps[0]', /object/],
  ['an unknown member of a step', step({ say: 'x' }), 'turns[0].steps[1]', /say/],
  ['an event without a type', step({ events: [{ delta: 'x' }] }), 'turns[0].steps[1].events[0]', /type/],
  ['a condition with nothing in it', turn({ when: {}, text: 'x' }), 'turns[0].when'],
  ['an unknown member of a condition', turn({ when: { is: 'x' }, text: 'x' }), 'turns[0].when', /is/],
  ['a bad regular expression', turn({ when: { matches: '(' }, text: 'x' }), 'turns[0].when.matches', /regex/],
];

describe('a script that says what none can', () => {
  const cases = WRONG.map(([what, content, place, more = /./], index) => {
    return { what, content, place, more, names: [`wrong-${index}.json`, `wrong-${index}.yaml`] };
  });
  /** Those of one start with all of them. */
  let lines: readonly string[];

  beforeAll(async () => {
    const files = cases.flatMap(({ names, content }) => names.map((name) => [name, content] as const));
    lines = await faultsOfFiles(Object.fromEntries(files));
    expect(lines).toHaveLength(files.length);
  });

  it.each(cases)(
    'a script that says what none can stops the start with a line that names the place: $what',
    ({ names, place, more }) => {
      for (const name of names) {
        const own = lines.filter((line) => line.includes(`/${name}: `));
        expectLine(own, name, place);
        expectLine(own, name, more);
      }
    },
  );

  it('faults in scripts give a line for each file', async () => {
    const lines = await faultsOfFiles({
      'one.yaml': { turns: [] },
      'good.yaml': { turns: [{ text: 'x' }] },
      'two.json': '{',
      'three.jsonl': '{"txt":"x"}',
    });
    expect(lines.map((line) => /\/(\w+\.\w+): /.exec(line)?.[1])).toEqual(['one.yaml', 'two.json', 'three.jsonl']);
  });
});

describe('a hosted tool that is written wrong', () => {
  it.each([
    [{ mcp: 'shop' }, /server\.tool/],
    [{ mcp: { server: 'shop' } }, /tool/],
    [{ search: { queries: ['x'] } }, /quer/],
    [{ image: { prompt: 'x', format: 'bmp' } }, /png/],
    [{ code: 5 }, /code/],
  ])('a hosted tool that is written wrong stops the start: %j', async (line, place) => {
    expectLine(await faultsOfFiles({ 'broken.yaml': { turns: [line] } }), 'broken.yaml', place);
  });
});
