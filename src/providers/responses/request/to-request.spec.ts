import { describe, expect, it } from '@jest/globals';

import type { ResponsesEntry } from '../../routing/index.js';
import { type TurnTraits, upstreamOptions, upstreamTurn } from '../../../../test/support/upstream-turn.js';
import { conversationOf } from './conversation.js';
import { SENT_MEMBERS } from './member-names.js';
import { toHttpBody, toRequest } from './to-request.js';

type Body = Readonly<Record<string, unknown>>;

/** Of an id that this service made. */
const HEX = '0199aaaabbbb7ccc8ddd000000000001';
/** Members with tests of their own. */
const SPECIAL: ReadonlySet<string> = new Set([
  'context_management',
  'include',
  'prompt_cache_key',
  'reasoning',
  'tools',
]);
const ENCRYPTED = 'reasoning.encrypted_content';

function bodyOf(traits: TurnTraits, entry: Partial<ResponsesEntry> = {}, previous: string | null = null): Body {
  const turn = upstreamTurn(traits);
  return JSON.parse(toHttpBody(toRequest(turn, conversationOf(turn), upstreamOptions(entry)), previous)) as Body;
}

const bodyWith = (parameters: Body, entry: Partial<ResponsesEntry> = {}): Body => bodyOf({ parameters }, entry);

describe('upstreams §2: the request', () => {
  it('the request has only what every request needs if the client sent nothing else', () => {
    expect(bodyWith({})).toEqual({
      model: 'gpt-5',
      stream: true,
      store: false,
      prompt_cache_key: 'resp_1',
      input: [],
    });
  });

  it.each(SENT_MEMBERS.filter((name) => !SPECIAL.has(name)))('the request has %s as the client sent it', (name) => {
    const value = { any: ['value', null] };
    expect(bodyWith({ [name]: value })[name]).toEqual(value);
    expect(bodyWith({ [name]: null })).not.toHaveProperty(name);
  });

  it('the request has context_management only where the upstream compacts', () => {
    const context_management = [{ type: 'compaction', compact_threshold: 1000 }];
    expect(bodyWith({ context_management })).not.toHaveProperty('context_management');
    expect(bodyWith({ context_management }, { compaction: 'upstream' })).toMatchObject({ context_management });
  });

  it('the request has tools as the client sent them, hosted ones included', () => {
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
  ])('the request never has %s of the client', (name, value) => {
    expect(bodyWith({ [name]: value })).not.toHaveProperty(name);
  });

  it('the request has the routed model and the capped limit of the settings', () => {
    const turn = upstreamTurn({ parameters: { model: 'fast', max_output_tokens: 9000 } });
    const settings = { ...turn.settings, model: 'gpt-5-mini', max_output_tokens: 4096 };
    const request = toRequest({ ...turn, settings }, conversationOf(turn), upstreamOptions());
    expect(JSON.parse(toHttpBody(request, null))).toMatchObject({ model: 'gpt-5-mini', max_output_tokens: 4096 });
  });

  it('the request has forwarded members, and no omitted ones', () => {
    const entry = { forward: ['top_k'], omit: ['store', 'prompt_cache_key', 'user', 'include'] };
    const body = bodyWith({ top_k: 5, user: 'ada', reasoning: {} }, entry);
    expect(body).toEqual({ model: 'gpt-5', stream: true, top_k: 5, reasoning: {}, input: [] });
  });

  it.each([
    ['none', {}, false],
    ['none', { store: true }, false],
    ['store', {}, true],
    ['store', { store: false }, false],
  ] as const)('the request with passthrough %s and %j says store: %p', (passthrough, parameters, store) => {
    expect(bodyWith(parameters, { passthrough })['store']).toBe(store);
  });
});

describe('upstreams §2.1: prompt_cache_key', () => {
  it('prompt_cache_key is the conversation, unless the client sent one', () => {
    const headers = { 'thread-id': 'thread-1' };
    expect(bodyOf({ headers })['prompt_cache_key']).toBe('thread-1');
    expect(bodyOf({ headers, parameters: { prompt_cache_key: 'k' } })['prompt_cache_key']).toBe('k');
  });
});

describe('upstreams §2.2: text controls', () => {
  it.each([
    [{ verbosity: 'low' }],
    [{ format: { type: 'json_schema', name: 'codex_output_schema', strict: true, schema: { type: 'object' } } }],
  ])('text controls are unchanged: %j', (text) => {
    expect(bodyWith({ text })['text']).toEqual(text);
  });

  it('text controls are absent without verbosity and schema', () => {
    expect(bodyWith({})).not.toHaveProperty('text');
  });
});

describe('upstreams §2.3: reasoning and include', () => {
  it('the request sends no include where the entry omits it', () => {
    expect(bodyWith({ include: [ENCRYPTED] }, { omit: ['include'] })).not.toHaveProperty('include');
  });

  it.each<readonly [what: string, traits: TurnTraits, include: unknown]>([
    ['the client asks for reasoning', { parameters: { reasoning: { summary: 'auto' } } }, [ENCRYPTED]],
    ['the model has an effort', { effort: 'medium' }, [ENCRYPTED]],
    ['the client includes it', { parameters: { include: [ENCRYPTED] }, effort: 'low' }, [ENCRYPTED]],
    ['nothing is known to reason', {}, undefined],
  ])('the request includes encrypted reasoning if the model reasons: %s', (_, traits, include) => {
    expect(bodyOf(traits)['include']).toEqual(include);
  });

  it('the request keeps what the client includes', () => {
    const parameters = { include: ['web_search_call.action.sources'], reasoning: { effort: 'low' } };
    expect(bodyWith(parameters)['include']).toEqual(['web_search_call.action.sources', ENCRYPTED]);
  });

  it('a request does not include encrypted reasoning where the upstream stores', () => {
    expect(bodyWith({ reasoning: { effort: 'low' } }, { passthrough: 'store' })).not.toHaveProperty('include');
  });
});

describe('passthrough: store', () => {
  it('passthrough: store sends the new items with the name of the parent', () => {
    const context = ['one', 'two'].map((text) => ({ type: 'message', id: `msg_${HEX}`, role: 'user', content: text }));
    const body = bodyOf({ context }, { passthrough: 'store' }, 'resp_upstream');
    expect(body).toMatchObject({ previous_response_id: 'resp_upstream', store: true });
    expect(body['input']).toEqual([{ type: 'message', role: 'user', content: 'two' }]);
  });

  it.each([
    [{ upstreamId: 'resp_u' }, 'resp_u'],
    [{ upstreamId: 'resp_u', provider: 'another' }, null],
    [undefined, null],
  ])('passthrough: store knows the parent that it answered itself: %j', (parent, id) => {
    const turn = upstreamTurn(parent === undefined ? {} : { parent });
    expect(toRequest(turn, conversationOf(turn), upstreamOptions()).parentId).toBe(id);
  });
});
