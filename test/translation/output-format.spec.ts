import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Translation } from '../support/translation/translation.js';
import { user } from '../support/translation/user-items.js';

const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, '$ünusual "key"': { type: ['integer', 'null'] } },
  required: ['city', '$ünusual "key"'],
  additionalProperties: false,
};
const jsonSchema = (members: object = {}): object => ({
  format: { type: 'json_schema', name: 'place', schema, ...members },
});

describe('the form of the answer for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({
      loose: { capabilities: { structured_output: 'json_object' } },
      free: { capabilities: { structured_output: 'none' }, tolerates: ['json_object'] },
      free_roleless: { capabilities: { structured_output: 'none', system_role: 'none' } },
    });
  });

  afterAll(() => translation.close());

  it.each<[string, object | undefined]>([
    ['nothing is said', undefined],
    ['it is text', { format: { type: 'text' } }],
    ['nothing is said of it', { verbosity: 'low' }],
  ])('the form of the answer is not sent where %s', async (_, text) => {
    for (const model of ['generic', 'loose', 'free']) {
      const body = await translation.sent({ model, text });
      expect(body).not.toHaveProperty('response_format');
      expect(body.messages).toEqual([{ role: 'user', content: 'Go on.' }]);
    }
  });

  it.each<[string, object, object]>([
    ['no more than it needs', {}, {}],
    ['that it is strict', { strict: true }, { strict: true }],
    ['that it is not strict', { strict: false }, { strict: false }],
    ['a description', { description: 'A place.' }, { description: 'A place.' }],
    ['nulls', { description: null, strict: null }, {}],
  ])('the form of the answer is a schema, with %s', async (_, members, sent) => {
    const body = await translation.sent({ text: jsonSchema(members), instructions: 'Be brief.' });
    expect(body['response_format']).toEqual({ type: 'json_schema', json_schema: { name: 'place', schema, ...sent } });
    expect(body.messages?.[0]).toEqual({ role: 'system', content: 'Be brief.' });
  });

  it('the form of the answer is what an item of the context has changed it to, as is the effort', async () => {
    const input = [
      user('Where?'),
      { type: 'configuration_update', text: jsonSchema(), reasoning: { effort: 'high' } },
      user('Well?'),
    ];
    const body = await translation.sent({ input, reasoning: { effort: 'low' } });
    expect(body['response_format']).toEqual({ type: 'json_schema', json_schema: { name: 'place', schema } });
    expect(body['reasoning_effort']).toBe('high');
    expect(body.messages).toEqual([
      { role: 'user', content: 'Where?' },
      { role: 'user', content: 'Well?' },
    ]);
  });

  it('the form of the answer is any object', async () => {
    const text = { format: { type: 'json_object' } };
    for (const model of ['generic', 'loose']) {
      const body = await translation.sent({ model, text, input: 'Answer in JSON.' });
      expect(body['response_format']).toEqual({ type: 'json_object' });
      expect(body.messages).toEqual([{ role: 'user', content: 'Answer in JSON.' }]);
    }
  });

  it.each<[string, object | undefined]>([
    ['loose', { type: 'json_object' }],
    ['free', undefined],
  ])('the form of the answer is asked for in words where the upstream knows no schemas (%s)', async (model, format) => {
    const body = await translation.sent({
      model,
      text: jsonSchema({ strict: true }),
      instructions: 'Be brief.',
      input: [user('Hello')],
    });
    expect(body['response_format']).toEqual(format);
    const [first, ...rest] = body.messages ?? [];
    expect(first).toEqual({ role: 'system', content: expect.stringMatching(/^Be brief\.\n\n.*JSON/) as unknown });
    expect(first?.['content']).toContain(JSON.stringify(schema));
    expect(rest).toEqual([{ role: 'user', content: 'Hello' }]);
  });

  it('the form of the answer is asked for in words where there are no instructions', async () => {
    const body = await translation.sent({ model: 'free', text: { format: { type: 'json_object' } } });
    expect(body).not.toHaveProperty('response_format');
    expect(body.messages).toEqual([
      { role: 'system', content: expect.stringContaining('JSON') as unknown },
      { role: 'user', content: 'Go on.' },
    ]);
  });

  it('the form of the answer is asked for in the words of the user where there are no others', async () => {
    const body = await translation.sent({ model: 'free_roleless', text: jsonSchema() });
    expect(body.messages).toHaveLength(1);
    expect(body.messages?.[0]).toMatchObject({
      role: 'user',
      content: expect.stringContaining(JSON.stringify(schema)) as unknown,
    });
    expect(String(body.messages?.[0]?.['content'])).toMatch(/\nGo on\.$/);
  });

  it('the form asked for in words does not show in what the client is told', async () => {
    const { response } = await translation.turn({ model: 'free', text: jsonSchema(), instructions: 'Be brief.' });
    expect(response['instructions']).toBe('Be brief.');
    expect(response['text']).toEqual({ ...jsonSchema(), verbosity: 'medium' });
  });
});
