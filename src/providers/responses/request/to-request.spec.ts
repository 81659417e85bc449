import { describe, expect, it } from '@jest/globals';

import type { Item } from '../../../protocol/index.js';
import type { ResponsesEntry } from '../../routing/index.js';
import { type TurnTraits, upstreamOptions, upstreamTurn } from '../../../../test/support/upstream-turn.js';
import { conversationOf } from './conversation.js';
import { SENT_MEMBERS } from './member-names.js';
import { toHttpBody, toRequest } from './to-request.js';

type Body = Readonly<Record<string, unknown>>;

/** Of an id that this service made. */
const HEX = '0199aaaabbbb7ccc8ddd000000000001';
/** Of an id that another server made, such as vLLM. */
const FOREIGN_HEX = '0199aaaabbbb4ccc8ddd000000000001';
/** Members with tests of their own. */
const SPECIAL: ReadonlySet<string> = new Set(['include', 'prompt_cache_key', 'reasoning', 'tools']);
const ENCRYPTED = 'reasoning.encrypted_content';

function bodyOf(traits: TurnTraits, entry: Partial<ResponsesEntry> = {}, previous: string | null = null): Body {
  const turn = upstreamTurn(traits);
  return JSON.parse(toHttpBody(toRequest(turn, conversationOf(turn), upstreamOptions(entry)), previous)) as Body;
}

const bodyWith = (parameters: Body, entry: Partial<ResponsesEntry> = {}): Body => bodyOf({ parameters }, entry);

describe('upstreams §2: the request', () => {
  it('has only what every request needs if the client sent nothing else', () => {
    expect(bodyWith({})).toEqual({ model: 'gpt-5', stream: true, store: false, prompt_cache_key: 'resp_1', input: [] });
  });

  it.each(SENT_MEMBERS.filter((name) => !SPECIAL.has(name)))('has %s as the client sent it', (name) => {
    const value = { any: ['value', null] };
    expect(bodyWith({ [name]: value })[name]).toEqual(value);
    expect(bodyWith({ [name]: null })).not.toHaveProperty(name);
  });

  it('has tools as the client sent them, hosted ones included', () => {
    const tools = [{ type: 'web_search' }, { type: 'function', name: 'look', parameters: null }];
    expect(bodyWith({ tools })['tools']).toEqual(tools);
  });

  it.each<readonly [name: string, value: unknown]>([
    ['background', true],
    ['conversation', 'conv_1'],
    ['previous_response_id', 'resp_1'],
    ['session_id', 'support'],
    ['stream_id', 'lane'],
    ['generate', true],
    ['type', 'response.create'],
    ['top_k', 5],
  ])('never has %s of the client', (name, value) => {
    expect(bodyWith({ [name]: value })).not.toHaveProperty(name);
  });

  it('has the routed model and the capped limit of the settings', () => {
    const turn = upstreamTurn({ parameters: { model: 'fast', max_output_tokens: 9000 } });
    const settings = { ...turn.settings, model: 'gpt-5-mini', max_output_tokens: 4096 };
    const request = toRequest({ ...turn, settings }, conversationOf(turn), upstreamOptions());
    expect(JSON.parse(toHttpBody(request, null))).toMatchObject({ model: 'gpt-5-mini', max_output_tokens: 4096 });
  });

  it('has forwarded members, and no omitted ones', () => {
    const entry = { forward: ['top_k'], omit: ['store', 'prompt_cache_key', 'user', 'include'] };
    const body = bodyWith({ top_k: 5, user: 'ada', reasoning: {} }, entry);
    expect(body).toEqual({ model: 'gpt-5', stream: true, top_k: 5, reasoning: {}, input: [] });
  });

  it.each([
    ['none', {}, false],
    ['none', { store: true }, false],
    ['store', {}, true],
    ['store', { store: false }, false],
  ] as const)('with passthrough %s and %j says store: %p', (passthrough, parameters, store) => {
    expect(bodyWith(parameters, { passthrough })['store']).toBe(store);
  });
});

describe('upstreams §2.1: prompt_cache_key', () => {
  it('is the conversation, unless the client sent one', () => {
    const headers = { 'thread-id': 'thread-1' };
    expect(bodyOf({ headers })['prompt_cache_key']).toBe('thread-1');
    expect(bodyOf({ headers, parameters: { prompt_cache_key: 'k' } })['prompt_cache_key']).toBe('k');
  });
});

describe('upstreams §2.2: text controls', () => {
  it.each([
    [{ verbosity: 'low' }],
    [{ format: { type: 'json_schema', name: 'codex_output_schema', strict: true, schema: { type: 'object' } } }],
  ])('are unchanged: %j', (text) => {
    expect(bodyWith({ text })['text']).toEqual(text);
  });

  it('are absent without verbosity and schema', () => {
    expect(bodyWith({})).not.toHaveProperty('text');
  });
});

describe('upstreams §2.3: reasoning and include', () => {
  it.each<readonly [what: string, traits: TurnTraits, include: unknown]>([
    ['the client asks for reasoning', { parameters: { reasoning: { summary: 'auto' } } }, [ENCRYPTED]],
    ['the model has an effort', { effort: 'medium' }, [ENCRYPTED]],
    ['the client includes it', { parameters: { include: [ENCRYPTED] }, effort: 'low' }, [ENCRYPTED]],
    ['nothing is known to reason', {}, undefined],
  ])('includes encrypted reasoning if %s', (_, traits, include) => {
    expect(bodyOf(traits)['include']).toEqual(include);
  });

  it('keeps what the client includes', () => {
    const parameters = { include: ['web_search_call.action.sources'], reasoning: { effort: 'low' } };
    expect(bodyWith(parameters)['include']).toEqual(['web_search_call.action.sources', ENCRYPTED]);
  });

  it('does not need it where the upstream stores', () => {
    expect(bodyWith({ reasoning: { effort: 'low' } }, { passthrough: 'store' })).not.toHaveProperty('include');
  });
});

describe('items', () => {
  const sent = (item: Item, entry: Partial<ResponsesEntry> = {}): unknown =>
    (bodyOf({ context: [item] }, entry)['input'] as readonly unknown[])[0];

  it.each<readonly [what: string, id: string, expected: string | undefined]>([
    [
      'an id of the upstream',
      'msg_68af00112233445566778899aabbccddeeff00112233445566',
      'msg_68af00112233445566778899aabbccddeeff00112233445566',
    ],
    ['the upstream id within an id made here', `msg_${HEX}_msg_1`, 'msg_1'],
    ['no id that was made here', `msg_${HEX}`, undefined],
    ['no id that is none of the API', 'abc', undefined],
  ])('have %s', (_, id, expected) => {
    expect(sent({ type: 'function_call', id, call_id: 'c', name: 'f', arguments: '{}' })).toEqual({
      ...(expected === undefined ? {} : { id: expected }),
      type: 'function_call',
      call_id: 'c',
      name: 'f',
      arguments: '{}',
    });
  });

  it.each(['user', 'assistant'])('of messages by %s lose the status that this service adds', (role) => {
    const message = { type: 'message', role, content: [] };
    expect(sent({ ...message, id: `msg_${HEX}`, status: 'completed' })).toEqual(message);
    const replayed = { ...message, id: 'msg_0199aaaa-0000-7000', status: 'completed' };
    expect(sent(replayed)).toEqual(replayed);
    const incomplete = { ...message, id: `msg_${HEX}`, status: 'incomplete' };
    expect(sent(incomplete)).toEqual({ ...message, status: 'incomplete' });
  });

  it('of unknown types are unchanged', () => {
    const item = {
      type: 'hologram_call',
      id: 'holo_0123456789abcdef',
      status: 'completed',
      shape: { edges: [1, null] },
    };
    expect(sent(item)).toEqual(item);
  });

  it.each<readonly [what: string, members: object, isSent: boolean]>([
    ['encrypted_content', { encrypted_content: 'gAAAA' }, true],
    ['its text', { content: [{ type: 'reasoning_text', text: 'I look.' }] }, true],
    ['null for both', { content: null, encrypted_content: null }, false],
    ['a summary only', {}, false],
    ['empty ones', { content: [], encrypted_content: '' }, false],
  ])('of reasoning with %s', (_, members, isSent) => {
    const item = { type: 'reasoning', id: 'rs_0123456789abcdef', summary: [], ...members };
    expect(sent(item)).toEqual(isSent ? item : undefined);
    expect(sent(item, { passthrough: 'store' })).toEqual(item);
  });
});

describe('passthrough: store', () => {
  it('sends the new items with the name of the parent', () => {
    const context = ['one', 'two'].map((text) => ({ type: 'message', id: `msg_${HEX}`, role: 'user', content: text }));
    const body = bodyOf({ context }, { passthrough: 'store' }, 'resp_upstream');
    expect(body).toMatchObject({ previous_response_id: 'resp_upstream', store: true });
    expect(body['input']).toEqual([{ type: 'message', role: 'user', content: 'two' }]);
  });

  it.each([
    [{ upstreamId: 'resp_u' }, 'resp_u'],
    [{ upstreamId: 'resp_u', provider: 'another' }, null],
    [undefined, null],
  ])('knows the parent that it answered itself: %j', (parent, id) => {
    const turn = upstreamTurn(parent === undefined ? {} : { parent });
    expect(toRequest(turn, conversationOf(turn), upstreamOptions()).parentId).toBe(id);
  });
});
