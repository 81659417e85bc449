import { describe, expect, it } from '@jest/globals';

import { countTokens } from '../../src/providers/tokens/index.js';
import { describeService, useServices } from '../support/describe-service.js';
import { textOrCode } from '../support/output.js';
import { startFaultsOf } from '../support/script-files.js';
import { startService } from '../support/service.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const MODEL = 'gpt-4.1';
const LONGEST_ECHO = 16_384;
const LOREM = /^(?:[A-Z][a-z]+(?: (?:[a-z]+|Lorem))*\. ?)+$/;
const FORMAT = {
  type: 'json_schema',
  name: 'weather',
  strict: true,
  schema: {
    type: 'object',
    properties: { city: { type: 'string', pattern: '^[a-z]' }, degrees: { type: 'integer', minimum: 3, maximum: 5 } },
    required: ['city', 'degrees'],
    additionalProperties: false,
  },
};

const user = (content: unknown): object => ({ type: 'message', role: 'user', content });
const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' };
const part = (text: string): object => ({ type: 'input_text', text });
const simulate = (text: string): object => ({ client_metadata: { 'x-simulate': text } });

/** Both ways to choose a generator: how the service is started, and what the request has besides. */
const WAYS = [
  {
    way: 'by configuration',
    environment: (generator: string, text = '') => ({ SIMULATOR_GENERATOR: generator, SIMULATOR_TEXT: text }),
    request: () => ({}),
  },
  {
    way: 'by x-simulate',
    environment: () => ({ SIMULATOR_CONTROL: true }),
    request: (generator: string, text?: string) =>
      simulate(`generator=${generator}${text === undefined ? '' : `; text=${encodeURIComponent(text)}`}`),
  },
] as const;

const serviceWith = useServices();

describe.each(WAYS)('a generator chosen $way', ({ environment, request }) => {
  it.each(TRANSPORTS)('a generator writes Latin of a kind as lorem over $name', async (transport) => {
    const service = await serviceWith(environment('lorem'));
    const ask = (more: object = {}): Promise<string> =>
      textOrCode(transport, service, { model: MODEL, input: 'Hello.', ...request('lorem'), ...more });
    const text = await ask();
    expect(text).toMatch(LOREM);
    expect(countTokens(text)).toBeGreaterThanOrEqual(20);
    expect(await ask()).toBe(text);
    expect(await ask({ input: 'Hi.' })).not.toBe(text);
    const lengths = await Promise.all(['low', 'high'].map((verbosity) => ask({ text: { verbosity } })));
    expect(lengths[0]?.length).toBeLessThan(lengths[1]?.length ?? 0);
  });

  it.each(TRANSPORTS)('a generator says what is given as fixed over $name', async (transport) => {
    const given = 'Grüße; 50% 👩‍👩‍👧 | "=" \\n\nsecond line';
    const service = await serviceWith(environment('fixed', given));
    for (const input of ['Hello.', 'Hi.']) {
      expect(await textOrCode(transport, service, { model: MODEL, input, ...request('fixed', given) })).toBe(given);
    }
  });

  it.each(TRANSPORTS)('a generator says the parts of a sequence in turn over $name', async (transport) => {
    const given = ' one |two – zwei|  three; 3 ';
    await using service = await startService({ environment: environment('sequence', given) });
    const said = [];
    for (const input of ['a', 'a', 'b', 'c', 'd', 'e', 'f']) {
      said.push(await textOrCode(transport, service, { model: MODEL, input, ...request('sequence', given) }));
    }
    const [one, two, three] = ['one', 'two – zwei', 'three; 3'];
    expect(said).toEqual([one, two, three, one, two, three, one]);
  });

  it.each(TRANSPORTS)(
    'a generator gives JSON where it is asked for, but not of what is given, over $name',
    async (transport) => {
      for (const generator of ['lorem', 'echo', 'random', 'fixed', 'sequence']) {
        const given = generator === 'fixed' || generator === 'sequence' ? 'word for word' : undefined;
        const service = await serviceWith(environment(generator, given));
        for (const format of [FORMAT, { type: 'json_object' }]) {
          const body = { model: MODEL, input: 'As JSON, please.', text: { format }, ...request(generator, given) };
          const text = await textOrCode(transport, service, body);
          if (given !== undefined) expect(text).toBe(given);
          else if (format === FORMAT) {
            expect(Object.keys(JSON.parse(text) as object).sort()).toEqual(['city', 'degrees']);
            expect([3, 4, 5]).toContain((JSON.parse(text) as { degrees: unknown }).degrees);
          } else expect(JSON.parse(text)).toEqual(expect.any(Object));
        }
      }
    },
  );
});

describeService('echo', { environment: { SIMULATOR_GENERATOR: 'echo' } }, (service) => {
  /** A message whose last character within the limit would be torn. */
  const torn = `a${'😀'.repeat(LONGEST_ECHO / 2)}`;

  it.each<readonly [string, unknown, string]>([
    ['a text', 'Grüße, 世界! <|endoftext|> \t"quoted"\n', 'Grüße, 世界! <|endoftext|> \t"quoted"\n'],
    ['parts, one a line', [user([part('one'), part('two')])], 'one\ntwo'],
    ['the words beside an image', [user([image, part('What is this?')])], 'What is this?'],
    ['an image by its type', [user([image])], '[input_image]'],
    ['images by their types', [user([image, image])], '[input_image, input_image]'],
    ['the last of several messages', [user('first'), { role: 'assistant', content: 'Hm?' }, user('last')], 'last'],
    ['the last user message, whatever follows it', [user('mine'), { role: 'developer', content: 'theirs' }], 'mine'],
    [
      'the question behind the output of a tool',
      [
        user('mine'),
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'theirs' },
      ],
      'mine',
    ],
    ['a long text', 'word '.repeat(LONGEST_ECHO / 5), 'word '.repeat(LONGEST_ECHO / 5)],
    ['the beginning of a very long text', 'x'.repeat(LONGEST_ECHO + 1), 'x'.repeat(LONGEST_ECHO)],
    ['whole characters of a very long text', torn, torn.slice(0, LONGEST_ECHO - 1)],
    ['nothing where nobody asked', [{ role: 'developer', content: 'Be brief.' }], ''],
  ])('echo says %s', async (_name, input, expected) => {
    for (const transport of TRANSPORTS) {
      // A model whose output is not bounded to less than the message.
      const text = await textOrCode(transport, service, { model: 'simulator', input });
      expect(text.length).toBe(expected.length);
      expect(text).toBe(expected);
    }
  });

  it('echo says the last message of a conversation that the service remembers', async () => {
    const first = await JSON_TRANSPORT.run(service, { model: MODEL, input: 'first' });
    const body = { model: MODEL, previous_response_id: first.response.id };
    expect(await textOrCode(JSON_TRANSPORT, service, { ...body, input: 'second' })).toBe('second');
    expect(await textOrCode(JSON_TRANSPORT, service, { ...body, input: [{ role: 'developer', content: 'x' }] })).toBe(
      'first',
    );
  });
});

describe('a generator that needs a text', () => {
  it.each(['fixed', 'sequence'])('a generator that needs a text stops the start without one: %s', async (generator) => {
    for (const SIMULATOR_TEXT of [undefined, '']) {
      const lines = await startFaultsOf(
        startService({ environment: { SIMULATOR_GENERATOR: generator, SIMULATOR_TEXT } }),
      );
      expect(lines).toEqual([expect.stringMatching(new RegExp(`^SIMULATOR_TEXT: .*${generator}.*\\.$`))]);
    }
  });

  it.each(['fixed', 'sequence'])(
    'a generator that needs a text takes the one that is configured: %s',
    async (generator) => {
      const service = await serviceWith({ SIMULATOR_CONTROL: true, SIMULATOR_TEXT: 'configured' });
      const body = { model: MODEL, input: 'Hello.', ...simulate(`generator=${generator}`) };
      expect(await textOrCode(JSON_TRANSPORT, service, body)).toBe('configured');
      const own = { ...body, ...simulate(`generator=${generator}; text=own`) };
      expect(await textOrCode(JSON_TRANSPORT, service, own)).toBe('own');
    },
  );
});
