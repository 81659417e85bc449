import { describe, expect, it, jest } from '@jest/globals';
import { countTokens as countUncut } from 'gpt-tokenizer/encoding/o200k_base';

import type { Item, ResponseSettings } from '../../protocol/index.js';
import { cutText } from './cut-text.js';
import { countItemTokens, countSettingsTokens, countTokens } from './token-counter.js';

const PROSE =
  'The early river follows the garden, don\'t you think? "Yes," she said – it\'s 3,141.59 km (or so)…  And then:\n\n';
const CODE =
  'export function toMap<T>(list: readonly T[]): Map<string, T> {\n\treturn new Map(list.map((x) => [`${x}`, x]));\n}\n';
const MARKDOWN =
  '## Tables\r\n\r\n| a | b |\r\n|---|---|\r\n| `x` | **y** |\r\n\r\n1. https://example.com/a/b?c=d#e\r\n   - [ ] todo\r\n';
const CHINESE = '今天天气很好，我们去公园散步吧。你喜欢吃什么水果？“苹果”、梨、还有２０２６年的葡萄！';
const EMOJI = 'Great 👍🏽 work 👩‍👩‍👧‍👦 on 🇫🇷 day ❤️‍🔥 number ① – naïve café, Ångström, हिन्दी भाषा, ภาษาไทย, عربى.\n';
const JSON_TEXT = JSON.stringify({
  id: 'resp_0199f3',
  list: [1, 2.5, -3e9, null, true],
  text: 'a "quoted"\n\u0001 word',
});

const TEXTS: readonly (readonly [name: string, text: string])[] = [
  ['prose', PROSE],
  ['code', CODE],
  ['markdown', MARKDOWN],
  ['Chinese', CHINESE],
  ['emoji and marks', EMOJI],
  ['JSON', JSON_TEXT],
  ['a special token', 'before <|endoftext|> after <|im_start|>user'],
  ['a table without spaces', 'column|'.repeat(30)],
  ['base64', Buffer.from(PROSE.repeat(10)).toString('base64')],
];

const message = (content: unknown): Item => ({ type: 'message', id: 'msg_1', role: 'user', content });
const settings = (over: object): ResponseSettings =>
  ({ instructions: null, tools: [], text: { format: { type: 'text' } }, ...over }) as unknown as ResponseSettings;
const uncut = (text: string): number => countUncut(text, { disallowedSpecial: new Set() });

describe(countTokens.name, () => {
  it.each(TEXTS)('countTokens counts %s as the tokenizer does, whatever the length', (_name, text) => {
    for (const times of [1, 7, 150, 401]) {
      const long = text.repeat(times);
      expect(countTokens(long)).toBe(uncut(long));
    }
  });

  it('countTokens counts the same for mixed texts cut at any place', () => {
    const mixed = TEXTS.map(([, text]) => text).join('');
    for (let from = 0; from < 300; from += 7) {
      const text = mixed.slice(from).repeat(5);
      expect(countTokens(text)).toBe(uncut(text));
    }
  });

  it('countTokens counts special tokens as plain text', () => {
    expect(countTokens('<|endoftext|>')).toBeGreaterThan(1);
  });

  it.each([
    ['\ufeff', 1],
    ['\ufeffusing', 1],
    ['\ufeffusing System;\r\n', 3],
  ])(
    'countTokens counts the byte order mark of %j, which the library skips, as the vocabulary has it',
    (text, tokens) => {
      expect(countTokens(text)).toBe(tokens);
    },
  );

  it('countTokens counts zero for an empty text', () => {
    expect(countTokens('')).toBe(0);
  });

  it.each([
    ['letters', 'a'.repeat(100_000)],
    ['capitals', 'QX'.repeat(50_000)],
    ['signs', '=-'.repeat(50_000)],
    ['spaces', ' '.repeat(100_000)],
    ['two kinds of space', '\u2003 '.repeat(50_000)],
    ['emoji', '😀👍'.repeat(20_000)],
    ['emoji out of step', `!${'😀'.repeat(20_000)}`],
    ['Chinese without a stop', '漢字仮名'.repeat(20_000)],
    ['newlines behind a sign', `-${'\n'.repeat(50_000)}`],
    ['marks', `e${'\u0301'.repeat(50_000)}`],
  ])('countTokens cuts long runs of %s where no character is torn', (_name, text) => {
    const pieces = [...cutText(text)];
    expect(pieces.join('')).toBe(text);
    for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
    // In runs the tokenizer's work grows with the square of the length: no piece may be one long run.
    expect(Math.max(...pieces.map(longestRun))).toBeLessThanOrEqual(256);
    expect(countTokens(text)).toBeGreaterThan(0);
  });
});

describe(countItemTokens.name, () => {
  const FRAMING = 3;

  it.each<readonly [string, { readonly type: string; readonly [member: string]: unknown }, number]>([
    ['a string', { type: 'message', role: 'user', content: PROSE }, uncut(PROSE)],
    [
      'parts of text',
      {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'input_text', text: PROSE },
          { type: 'output_text', text: CODE, annotations: [] },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      uncut(PROSE) + uncut(CODE) + uncut('No.'),
    ],
    ['an image', { type: 'message', content: [{ type: 'input_image', image_url: 'data:,', detail: 'auto' }] }, 765],
    ['a small image', { type: 'message', content: [{ type: 'input_image', image_url: 'data:,', detail: 'low' }] }, 85],
    [
      'a file',
      { type: 'message', content: [{ type: 'input_file', filename: 'plan.pdf', file_data: 'x'.repeat(4000) }] },
      uncut('plan.pdf') + 1000,
    ],
    ['a huge file', { type: 'message', content: [{ type: 'input_file', file_data: 'x'.repeat(4_000_000) }] }, 128_000],
    [
      'a call',
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
      uncut('get_weather') + uncut('{"city":"Paris"}'),
    ],
    ['its output', { type: 'function_call_output', call_id: 'call_1', output: 'Sunny, 20 °C' }, uncut('Sunny, 20 °C')],
    [
      'an output of parts',
      { type: 'function_call_output', output: [{ type: 'input_text', text: 'Sunny' }, { type: 'input_image' }] },
      uncut('Sunny') + 765,
    ],
    ['a custom call', { type: 'custom_tool_call', name: 'run', input: 'ls' }, uncut('run') + uncut('ls')],
    ['its output', { type: 'custom_tool_call_output', output: 'a.txt' }, uncut('a.txt')],
    [
      'reasoning in the open, which is not read again where it is sealed',
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'First' }],
        content: [{ type: 'reasoning_text', text: 'Then' }],
        encrypted_content: 'x'.repeat(401),
      },
      uncut('First') + uncut('Then'),
    ],
    [
      'sealed reasoning',
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'First' }],
        encrypted_content: 'x'.repeat(401),
      },
      uncut('First') + 101,
    ],
    ['bare reasoning', { type: 'reasoning', summary: [], content: null, encrypted_content: null }, 0],
    ['a message without content', { type: 'message', role: 'user', content: null }, 0],
  ])('countItemTokens counts %s', async (_name, item, tokens) => {
    await expect(countItemTokens([{ ...item, id: 'item_1' }])).resolves.toBe(FRAMING + tokens);
  });

  it('countItemTokens counts an item of an unknown type as its JSON text without the id', async () => {
    const text = JSON.stringify({ type: 'hologram', depth: 12 });
    const item = { type: 'hologram', id: 'item_1', depth: 12 };
    await expect(countItemTokens([item])).resolves.toBe(FRAMING + uncut(text));
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'countItemTokens counts an item of type %s like any unknown one',
    async (type) => {
      const item: Item = { type, id: 'item_1', content: [{ type: 'constructor', text: 'hello' }] };
      await expect(countItemTokens([item])).resolves.toBe(
        countTokens(JSON.stringify({ type, content: item.content })) + 3,
      );
    },
  );

  it('countItemTokens caches the count of an item', async () => {
    const read = jest.fn(() => PROSE);
    const item: Item = {
      type: 'message',
      id: 'msg_1',
      get content() {
        return read();
      },
    };
    const once = await countItemTokens([item, item]);
    expect(await countItemTokens([item])).toBe(once / 2);
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('countItemTokens yields to the event loop for long texts only', async () => {
    using loop = new LoopTurns();
    await countItemTokens([message(PROSE)]);
    expect(loop.turns).toBe(0);
    await countItemTokens([message(PROSE.repeat(6000))]);
    expect(loop.turns).toBeGreaterThanOrEqual(8);
  });
});

describe('a count with limits', () => {
  const words = (): Item => message(PROSE.repeat(10));

  it.each([0, 1, 100, 1000])('a count with limits stops soon after it exceeds %d', async (limit) => {
    const whole = await countItemTokens(Array.from({ length: 100 }, words));
    const counted = await countItemTokens(Array.from({ length: 100 }, words), { limit });
    expect(counted).toBeGreaterThan(limit);
    expect(counted).toBeLessThan(limit + whole / 50);
  });

  it('a count with limits stops within an item, and counts all of it the next time', async () => {
    const item = message(PROSE.repeat(2000));
    const whole = await countItemTokens([message(PROSE.repeat(2000))]);
    expect(await countItemTokens([item], { limit: 100 })).toBeLessThan(5000);
    expect(await countItemTokens([item])).toBe(whole);
  });

  it('a count with limits is exact up to its limit', async () => {
    const whole = await countItemTokens([words()]);
    expect(await countItemTokens([words()], { limit: whole })).toBe(whole);
  });

  it('a count with limits stops when it is aborted', async () => {
    const aborter = new AbortController();
    const reason = new Error('nobody waits any more');
    const counted = countItemTokens([message(PROSE.repeat(6000))], { signal: aborter.signal });
    setImmediate(() => aborter.abort(reason));
    await expect(counted).rejects.toBe(reason);
  });

  it('a count with limits takes turns with others: a short one does not wait for the end of a long one', async () => {
    let isLongDone = false;
    const long = countItemTokens([message(PROSE.repeat(6000))]).then(() => (isLongDone = true));
    for (let round = 0; round < 5; round++) await countItemTokens([message(`${round} ${PROSE}`)]);
    expect(isLongDone).toBe(false);
    await long;
  });

  it('short counts that meet a pause go on together after it, however many they are', async () => {
    const long = countItemTokens([message(PROSE.repeat(6000))]);
    const short = Array.from({ length: 200 }, (_, index) => countItemTokens([message(`${index} ${PROSE}`)]));
    using loop = new LoopTurns();
    await Promise.all(short);
    expect(loop.turns).toBeLessThan(20);
    await long;
  });
});

describe(countSettingsTokens.name, () => {
  const tool = { type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: true };
  const schema = { type: 'object', properties: { city: { type: 'string' } } };

  it('countSettingsTokens counts instructions, tools and the schema of the answer', async () => {
    const count = await countSettingsTokens(
      settings({ instructions: PROSE, tools: [tool], text: { format: { type: 'json_schema', name: 'x', schema } } }),
    );
    expect(count).toBe(3 + uncut(PROSE) + uncut(JSON.stringify(tool)) + uncut(JSON.stringify(schema)));
  });

  it('countSettingsTokens counts zero without settings', async () => {
    await expect(countSettingsTokens(settings({}))).resolves.toBe(0);
  });

  it('countSettingsTokens caches the count of a list of tools', async () => {
    const toJSON = jest.fn(() => tool);
    const tools = [{ toJSON }];
    const once = await countSettingsTokens(settings({ tools }));
    await expect(countSettingsTokens(settings({ tools }))).resolves.toBe(once);
    expect(toJSON).toHaveBeenCalledTimes(1);
  });
});

/** The longest piece of text that the tokenizer takes in one: letters with marks, signs, or whitespace. */
function longestRun(text: string): number {
  const runs = text.match(/[\p{L}\p{M}]+|[^\s\p{L}\p{N}]+|\s+/gu) ?? [];
  return Math.max(0, ...runs.map(({ length }) => length));
}

/** Counts the turns of the event loop, until it is disposed of. */
class LoopTurns implements Disposable {
  turns = 0;
  private isOver = false;

  constructor() {
    this.waitForTurn();
  }

  [Symbol.dispose](): void {
    this.isOver = true;
  }

  private waitForTurn(): void {
    setImmediate(() => {
      this.turns++;
      if (!this.isOver) this.waitForTurn();
    });
  }
}
