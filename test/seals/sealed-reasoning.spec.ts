import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import { KeyRing, Seals } from '../../src/context/seals/index.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';
import { Translation } from '../support/translation/translation.js';
import { itemsOf, type Members } from '../support/output.js';
import { assistant, user } from '../support/translation/user-items.js';

const THOUGHT = 'The user greets me – 你好.';
const ANSWER = { reasoning: THOUGHT, text: 'Hi.' };
const model = 'thinker';

let translation: Translation;

beforeAll(async () => {
  translation = await Translation.start({ [model]: { capabilities: { reasoning_replay: 'reasoning' } } });
});

afterAll(() => translation.close());

/** As Codex sends it back: only the seal is left. */
const bare = (item: Members): object => (item['type'] === 'reasoning' ? { ...item, content: null } : item);

const sealed = (content: string): object => ({ type: 'reasoning', summary: [], encrypted_content: content });

describe.each(TRANSPORTS)('reasoning of a client that stores nothing, over $name', (transport) => {
  it('reasoning of a client that stores nothing is sealed, and given back to the model', async () => {
    const request = { model, input: [user('Hello')], store: false };
    const { response } = await translation.run(transport, request, ANSWER);
    const items = itemsOf(response);
    expect(items[0]?.['encrypted_content']).toMatch(/^antiphon1_[\w-]+$/);
    const input = [user('Hello'), ...items.map(bare), user('And?')];
    const { body } = await translation.run(transport, { model, input, store: false });
    expect(body.messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.', reasoning: THOUGHT },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('reasoning is sealed where it is stored too, if the client asks for it', async () => {
    const include = ['reasoning.encrypted_content'];
    const { response } = await translation.run(transport, { model, input: 'Hello', include }, ANSWER);
    expect(itemsOf(response)[0]).toHaveProperty('encrypted_content');
    const { response: plain } = await translation.run(transport, { model, input: 'Hello' }, ANSWER);
    expect(itemsOf(plain)[0]).not.toHaveProperty('encrypted_content');
  });
});

describe('reasoning that cannot be opened', () => {
  const ring = (): KeyRing => translation.service.app.get(Seals, { strict: false }).ring() as KeyRing;
  const own = (): string => ring().seal(asTenant('anybody'), 'reasoning', 'secret');

  it('reasoning could be opened if nothing were wrong', async () => {
    await translation.run(JSON_TRANSPORT, { model, store: false }, ANSWER);
    const input = [user('Hello'), sealed(own()), assistant('Hi.'), user('And?')];
    expect((await translation.messages({ model, input }))[1]).toMatchObject({ reasoning: 'secret' });
  });

  it.each<[string, () => string]>([
    ['of another tenant', () => ring().seal(asTenant('other'), 'reasoning', 'secret')],
    ['of a compaction', () => ring().seal(asTenant('anybody'), 'compaction', 'secret')],
    ['of a key that is gone', () => new KeyRing([randomBytes(32)]).seal(asTenant('anybody'), 'reasoning', 'secret')],
    ['that was altered', () => own().replace(/.{8}$/, 'AAAAAAAA')],
    ['of an older version', () => `antiphon.reasoning.${btoa('secret')}`],
    ['of another service', () => 'gAAAAABforeign'],
  ])('reasoning that cannot be opened is left out: %s', async (_, make) => {
    const input = [user('Hello'), sealed(make()), assistant('Hi.'), user('And?')];
    expect(await translation.messages({ model, input })).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'And?' },
    ]);
  });
});

it.each([
  ['current_turn', [undefined, 'Now.']],
  ['all_turns', ['Before.', 'Now.']],
  ['auto', ['Before.', 'Now.']],
])('reasoning.context %s decides which reasoning the model is given', async (context, expected) => {
  const thought = (text: string): object => ({
    type: 'reasoning',
    summary: [],
    content: [{ type: 'reasoning_text', text }],
  });
  const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'one' };
  const input = [user('Hello'), thought('Before.'), assistant('Hi.'), user('Look.'), thought('Now.'), call, output];
  const messages = await translation.messages({ model, input, reasoning: { context } });
  const answers = messages.filter(({ role }) => role === 'assistant');
  expect(answers.map(({ reasoning }) => reasoning)).toEqual(expected);
});
