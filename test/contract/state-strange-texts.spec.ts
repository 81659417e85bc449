import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { EVERY_STATE, startServiceIn } from '../support/state-backends.js';
import { TRANSPORTS } from '../support/transports.js';

/** Texts that JSON can say and databases may mind. */
const TEXTS: readonly (readonly [what: string, text: string])[] = [
  ['a NUL', 'a\0b'],
  ['nothing but NUL', '\0'],
  ['half of a pair', 'a\ud83db'],
  ['the other half of a pair', 'a\ude00b'],
  ['the halves in the wrong order', '\ude00\ud83d'],
  ['a whole pair', '😀'],
  ['the text of an escape', '\\u0000 \\ud800 \\x00'],
  ['control characters', '\u0001\u001f\u007f\u0085\u2028\u2029\ufeff\ufffe\uffff'],
  ['the language of databases', `'; DROP TABLE responses; -- "$1" $$ {a,"b"} \\N %s`],
  ['a word of objects', '__proto__'],
  ['what looks like a digest', '#47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'],
];

/** A request in which every text is this one. */
function bodyOf(text: string): object {
  return {
    model: text,
    instructions: text,
    user: text,
    prompt_cache_key: text,
    metadata: Object.fromEntries([
      [text, text],
      ['plain', text],
    ]),
    tools: [{ type: 'function', name: 'look', description: text, parameters: { title: text }, strict: false }],
    input: [
      { role: 'user', id: text, content: text },
      { type: 'function_call', id: `fc ${text}`, call_id: text, name: text, arguments: text },
      { type: 'function_call_output', id: `fco ${text}`, call_id: text, output: [{ type: 'input_text', text }] },
      { type: 'a type of tomorrow', id: `other ${text}`, data: { [text]: [text] } },
    ],
  };
}

describe.each(EVERY_STATE)('in $state', ({ open }) => {
  const service = useService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  describe.each(TEXTS)('%s', (_, text) => {
    // Half a character of a model is no text; what a client says stays as it is.
    const said = text.toWellFormed();

    it.each(TRANSPORTS)('a strange text is stored and given back as it came: $name', async (transport) => {
      service.provider.reply(
        { type: 'reasoning_summary', delta: text },
        { type: 'reasoning_encrypted', content: text },
        { type: 'text', delta: text },
        { type: 'function_call', name: text, callId: `2 ${text}` },
        { type: 'function_call_arguments', delta: text },
      );
      const { response } = await transport.run(service, bodyOf(text));
      const { body } = await service.api.get(`responses/${response.id}`);
      const { output_text: _text, ...stored } = body;
      const { output_text: _too, ...made } = response;
      expect(stored).toEqual(made);
      expect(stored).toMatchObject({
        model: text,
        instructions: text,
        metadata: Object.fromEntries([[text, text]]),
        output: [
          { type: 'reasoning', summary: [{ text: said }] },
          { type: 'message', content: [{ text: said }] },
          { type: 'function_call', name: said, call_id: `2 ${said}`, arguments: said },
        ],
      });
      const { body: list } = await service.api.get(`responses/${response.id}/input_items?order=asc`);
      expect(list['data']).toMatchObject([
        { id: text, content: [{ text }] },
        { id: `fc ${text}`, call_id: text, name: text, arguments: text },
        { id: `fco ${text}`, call_id: text, output: [{ text }] },
        { id: `other ${text}`, data: Object.fromEntries([[text, [text]]]) },
      ]);
      expect(list).toMatchObject({ first_id: text, last_id: `other ${text}` });
    });

    it.each(TRANSPORTS)('a strange text is context of what comes after it: $name', async (transport) => {
      service.provider.reply({ type: 'text', delta: text });
      const { id } = await service.api.create(bodyOf(text));
      await transport.run(service, { model: 'scripted', input: 'Next', previous_response_id: id });
      const [question, call, answer, other, reply] = service.provider.turns.at(-1)?.context ?? [];
      expect([question, call, answer, other, reply]).toMatchObject([
        { id: text, content: [{ text }] },
        { call_id: text, arguments: text },
        { call_id: text, output: [{ text }] },
        { data: Object.fromEntries([[text, [text]]]) },
        { content: [{ text: said }] },
      ]);
    });

    it('an item whose id is a strange text is found', async () => {
      await service.api.create(bodyOf(text));
      await service.api.create({ input: [{ type: 'item_reference', id: text }] });
      expect(service.provider.turns.at(-1)?.context).toMatchObject([{ id: text, role: 'user', content: [{ text }] }]);
      const unknown = { input: [{ type: 'item_reference', id: `no ${text}` }] };
      await expect(service.api.create(unknown)).rejects.toMatchObject({
        status: 404,
        body: { error: { param: 'input' } },
      });
    });

    it('a strange text is no parent, and cannot be the name of a session', async () => {
      await expect(service.api.create({ previous_response_id: `resp_${text}` })).rejects.toMatchObject({ status: 400 });
      const forked = await service.api.post('sessions/x/fork', { target_session_id: 'y', up_to_response_id: text });
      expect(forked).toMatchObject({ status: 404 });
    });
  });

  // A URL cannot hold half of a pair.
  it.each(TEXTS.filter(([, text]) => text.isWellFormed()))('%s is listed and filtered by', async (_, text) => {
    const { id } = await service.api.create(bodyOf(text));
    const encoded = encodeURIComponent(text);
    for (const filter of [`model=${encoded}`, `metadata[${encoded}]=${encoded}`, `metadata[plain]=${encoded}`]) {
      expect(await service.api.idsOf(`responses?limit=1&${filter}`)).toEqual([id]);
      expect(await service.api.idsOf(`responses?${filter}&status=failed`)).toEqual([]);
      expect(await service.api.idsOf(`responses?${filter}x`)).toEqual([]);
    }
    const page = await service.api.get(`responses/${id}/input_items?order=asc&limit=1&after=${encoded}`);
    expect(page.body).toMatchObject({ data: [{ id: `fc ${text}` }], has_more: true });
    for (const path of [`responses?after=${encoded}`, `responses/${id}/children?before=${encoded}`]) {
      expect((await service.api.get(path)).status).toBe(400);
    }
    for (const path of [`responses/${encoded}`, `responses/${encoded}/tree`]) {
      expect((await service.api.get(path)).status).toBe(404);
    }
    // Most of these can be the name of no session, and then there is none.
    expect((await service.api.delete(`sessions/${encoded}`)).status).toBe(404);
  });

  it('texts that differ in one half of a pair are two', async () => {
    const high = await service.api.create({ model: 'm\ud83d', metadata: { '\ud83d': 'x' } });
    const low = await service.api.create({ model: 'm\ud83e', metadata: { '\ud83e': 'x' } });
    expect((await service.api.get(`responses/${high.id}`)).body).toMatchObject({ model: 'm\ud83d' });
    expect((await service.api.get(`responses/${low.id}`)).body).toMatchObject({ model: 'm\ud83e' });
    // What a URL makes of such a half is another character.
    expect(await service.api.idsOf('responses?model=m%EF%BF%BD')).toEqual([]);
  });

  it('long texts are found as well', async () => {
    const model = 'm'.repeat(1024);
    const metadata = { ['k'.repeat(64)]: 'v'.repeat(512) };
    const { id } = await service.api.create({
      model,
      metadata,
      input: [{ id: 'i'.repeat(256), role: 'user', content: 'Hi' }],
    });
    expect((await service.api.get(`responses/${id}`)).body).toMatchObject({ model, metadata });
    expect(await service.api.idsOf(`responses?metadata[${'k'.repeat(64)}]=${'v'.repeat(512)}`)).toEqual([id]);
    expect(await service.api.idsOf(`responses?model=${'m'.repeat(1023)}`)).toEqual([]);
    await service.api.create({ input: [{ type: 'item_reference', id: 'i'.repeat(256) }] });
    const other = await service.api.create({ model: `${'m'.repeat(1023)}n` });
    expect(await service.api.idsOf(`responses?model=${'m'.repeat(1023)}n`)).toEqual([other.id]);
  });
});
