import { beforeAll, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { textOrCode } from '../support/output.js';
import { addScript, type ScriptContent, startWithScripts } from '../support/script-files.js';
import type { Transport } from '../support/transport.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const texts = (...words: readonly string[]): readonly object[] => words.map((text) => ({ text }));
const control = (text: string): object => ({ client_metadata: { 'x-simulate': text } });

interface PlayedScript {
  ask(input: unknown, more?: object): Promise<string>;
}

const service = useService({ environment: { SIMULATOR_CONTROL: true } });

/** Adds a script and gives a way to ask it. */
async function play(script: ScriptContent, transport: Transport): Promise<PlayedScript> {
  const run = await addScript(service, transport, script);
  const played: Transport = { name: transport.name, run: (_, body) => run({ ...body }) };
  return { ask: (input, more = {}) => textOrCode(played, service, { input, ...more }) };
}

describe.each(TRANSPORTS)('a script in order over $name', (transport) => {
  it.each([
    ['repeats its last turn', {}, ['one', 'two', 'two', 'two', 'two']],
    ['repeats its last turn when told to', { on_exhausted: 'repeat_last' }, ['one', 'two', 'two', 'two', 'two']],
    ['begins anew', { on_exhausted: 'loop' }, ['one', 'two', 'one', 'two', 'one']],
    ['is exhausted', { on_exhausted: 'error' }, ['one', 'two', ...Array<string>(3).fill('script_exhausted')]],
  ])('%s when there are no more turns', async (_name, settings, expected) => {
    const script = await play({ ...settings, turns: texts('one', 'two') }, transport);
    const said = [];
    for (const input of ['a', 'b', 'c', 'd', 'e']) said.push(await script.ask(input));
    expect(said).toEqual(expected);
  });

  it('a script begins at the turn that x-simulate names, and goes on after it', async () => {
    const script = await play({ on_exhausted: 'error', turns: texts('one', 'two', 'three') }, transport);
    const said = [];
    for (const turn of [undefined, 3, undefined, 1, undefined, 2, undefined, 9]) {
      said.push(await script.ask('Next', turn === undefined ? {} : control(`turn=${turn}`)));
    }
    expect(said).toEqual(['one', 'three', 'script_exhausted', 'one', 'two', 'two', 'three', 'script_exhausted']);
  });

  it('a script refuses with a 400 that names the script once it is exhausted', async () => {
    await using service = await startWithScripts({ 'short.yaml': { on_exhausted: 'error', turns: texts('one') } });
    const body = { model: 'short', input: 'Next' };
    await transport.run(service, body);
    await expect(transport.run(service, body)).rejects.toMatchObject({
      status: 400,
      body: { error: { code: 'script_exhausted', message: expect.stringContaining("'short'") } },
    });
  });
});

describe.each(TRANSPORTS)('a script by the last user message over $name', (transport) => {
  const turns = [
    { when: 'weather', text: 'contains' },
    { when: { equals: 'Good Morning ' }, text: 'equals' },
    { when: { matches: '^order (\\d+)$' }, text: 'matches' },
    { when: { contains: 'train', matches: 'porto|faro' }, text: 'both' },
    { text: 'otherwise' },
  ];
  let script: PlayedScript;

  beforeAll(async () => {
    script = await play({ match: 'last_user_message', turns }, transport);
  });

  it.each([
    ['What is the WEATHER like?', 'contains'],
    [' good morning\n', 'equals'],
    ['good morning, friend', 'otherwise'],
    ['ORDER 66', 'matches'],
    ['order 66 please', 'otherwise'],
    ['a train to Porto', 'both'],
    ['a train to Lisbon', 'otherwise'],
    ['a bus to Porto', 'otherwise'],
    [[{ role: 'user', content: '' }], 'otherwise'],
    [[{ role: 'user', content: [{ type: 'input_text', text: 'the weather?' }] }], 'contains'],
    [
      [
        { role: 'user', content: 'the weather?' },
        { role: 'developer', content: 'Be brief.' },
      ],
      'contains',
    ],
    [
      [
        { role: 'user', content: 'the weather?' },
        { role: 'assistant', content: 'Which one?' },
        { role: 'user', content: 'order 1' },
      ],
      'matches',
    ],
    [[{ role: 'assistant', content: 'the weather?' }], 'otherwise'],
  ])('a script answers %j by %s', async (input, expected) => {
    expect(await script.ask(input)).toBe(expected);
  });

  it('a script refuses what no turn answers', async () => {
    const conditional = turns.slice(0, -1);
    for (const afterLast of ['repeat_last', 'error', 'loop']) {
      const script = await play({ match: 'last_user_message', on_exhausted: afterLast, turns: conditional }, transport);
      expect(await script.ask('Hello?')).toBe('script_exhausted');
      expect(await script.ask('the weather?')).toBe('contains');
    }
  });

  it('a script generates what no turn answers where that is wanted', async () => {
    await using service = await startWithScripts(
      { 'played.yaml': { match: 'last_user_message', turns: turns.slice(0, -1) } },
      { environment: { SIMULATOR_UNMATCHED: 'generate' } },
    );
    const { response } = await transport.run(service, { model: 'played', input: 'Hello?' });
    expect(response).toMatchObject({ status: 'completed', usage: { output_tokens: expect.any(Number) } });
    expect(await textOrCode(transport, service, { model: 'played', input: 'the weather?' })).toBe('contains');
  });

  it('a script counts the requests of each kind for themselves where it advances by request', async () => {
    const script = {
      match: 'last_user_message',
      advance: 'request',
      on_exhausted: 'loop',
      turns: [{ when: 'sun', text: 'sun 1' }, { text: 'other 1' }, { when: 'sun', text: 'sun 2' }, { text: 'other 2' }],
    };
    const played = await play(script, transport);
    const said = [];
    for (const input of ['sun?', 'sun!', 'rain', 'sun.', 'rain']) said.push(await played.ask(input));
    expect(said).toEqual(['sun 1', 'sun 2', 'other 1', 'sun 1', 'other 2']);
  });
});

describe('the name of a script', () => {
  it('the name of a script is a model: its own, or that of its file, listed once', async () => {
    await using service = await startWithScripts({
      'by.file.name.yaml': { turns: texts('by its file') },
      'some.json': { model: 'org/own name', turns: texts('by its own') },
      'gpt-5.jsonl': { turns: texts('like a listed one') },
      'any.yml': { model: '*', turns: texts('for any') },
    });
    const ids = (await Array.fromAsync(service.client().models.list())).map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids).toEqual(expect.arrayContaining(['by.file.name', 'org/own name', 'gpt-5', 'gpt-5-mini']));
    expect(ids).not.toContain('*');
    expect(ids).not.toContain('any');
    expect(ids).not.toContain('some');
    for (const [model, text] of [
      ['by.file.name', 'by its file'],
      ['org/own name', 'by its own'],
      ['gpt-5', 'like a listed one'],
      ['gpt-5-mini', 'for any'],
      ['nobody knows it', 'for any'],
    ] as const) {
      expect((await service.client().responses.create({ model, input: 'Hello' })).output_text).toBe(text);
    }
  });

  it('the name of a script is known where other names are not', async () => {
    const environment = { SIMULATOR_ANY_MODEL: false };
    await using service = await startWithScripts({ 'known.yaml': { turns: texts('known') } }, { environment });
    expect(await textOrCode(JSON_TRANSPORT, service, { model: 'known', input: 'Hello' })).toBe('known');
    expect(await textOrCode(JSON_TRANSPORT, service, { model: 'unknown', input: 'Hello' })).toBe('model_not_found');
    await using any = await startWithScripts({ 'any.yaml': { model: '*', turns: texts('any') } }, { environment });
    expect(await textOrCode(JSON_TRANSPORT, any, { model: 'unknown', input: 'Hello' })).toBe('any');
  });
});
