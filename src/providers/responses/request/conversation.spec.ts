import { describe, expect, it } from '@jest/globals';

import { upstreamTurn, type TurnTraits } from '../../../../test/support/upstream-turn.js';
import { PROFILES } from '../profile.js';
import { connectionHeaders, forwardedHeaders } from './connection-headers.js';
import { CONVERSATION_HEADERS, conversationOf, turnStateOf } from './conversation.js';

const THREAD = '0199aaaa-0000-7000-8000-000000000001';
const SESSION = '0199aaaa-0000-7000-8000-000000000002';

describe('upstreams §2.1: prompt_cache_key and conversation_id', () => {
  it.each<readonly [what: string, traits: TurnTraits, id: string, sessionId: string]>([
    ['the thread', { headers: { 'thread-id': THREAD, 'session-id': SESSION } }, THREAD, SESSION],
    ['the session, without a thread', { headers: { 'session-id': SESSION } }, SESSION, SESSION],
    ['what Codex of February 2026 names', { headers: { session_id: SESSION } }, SESSION, SESSION],
    ['prompt_cache_key, without headers', { parameters: { prompt_cache_key: 'agent-7' } }, 'agent-7', 'agent-7'],
    ['the session of the response, else', { sessionId: 'support' }, 'support', 'support'],
    [
      'that, if the others are empty',
      { headers: { 'thread-id': '' }, parameters: { prompt_cache_key: '' } },
      'resp_1',
      'resp_1',
    ],
  ])('the conversation at the upstream is %s', (_, traits, id, sessionId) => {
    expect(conversationOf(upstreamTurn(traits))).toMatchObject({ id, sessionId, threadId: id });
  });

  it('headers take precedence over prompt_cache_key', () => {
    const turn = upstreamTurn({ headers: { 'thread-id': THREAD }, parameters: { prompt_cache_key: 'agent-7' } });
    expect(conversationOf(turn).id).toBe(THREAD);
  });

  it.each(['two\nlines', 'ünlaut', 'x'.repeat(65), 'a b'])(
    'the conversation at the upstream is a digest for the name %j',
    (name) => {
      const { id } = conversationOf(upstreamTurn({ parameters: { prompt_cache_key: name } }));
      expect(id).toMatch(/^[0-9a-f]{32}$/);
    },
  );

  it('the conversation at the upstream is never shared by two tenants', () => {
    const key = (tenant: string): string =>
      conversationOf(upstreamTurn({ tenant, headers: { 'thread-id': THREAD } })).key;
    expect(key('one')).toBe(key('one'));
    expect(key('one')).not.toBe(key('two'));
    expect(key('one')).not.toContain('one');
  });

  it.each([
    ['codex-2026-02', { session_id: THREAD }],
    ['codex-2026-11', { 'session-id': SESSION, 'thread-id': THREAD, 'x-client-request-id': THREAD }],
  ] as const)('the conversation at the upstream is in the headers of %s', (name, headers) => {
    const turn = upstreamTurn({ headers: { 'thread-id': THREAD, 'session-id': SESSION } });
    expect(connectionHeaders(conversationOf(turn), PROFILES[name])).toEqual(headers);
  });
});

describe('headers of Codex', () => {
  it('headers of Codex are read and forwarded under their names, but for the conversation and the turn state', () => {
    const own = { originator: 'codex_exec', 'x-codex-window-id': 'w:0', 'x-codex-turn-metadata': '{"turn_id":"1"}' };
    const headers = { ...own, 'thread-id': THREAD, 'x-codex-turn-state': 'state-1' };
    expect(forwardedHeaders(upstreamTurn({ headers }))).toEqual(own);
    expect(CONVERSATION_HEADERS).toEqual(expect.arrayContaining(Object.keys(headers)));
  });

  it.each(['two\r\nlines', 'é', '', 'x'.repeat(4097)])('headers of Codex are left out with the value %j', (value) => {
    expect(forwardedHeaders(upstreamTurn({ headers: { originator: value } }))).toEqual({});
  });

  it.each([
    [{ 'x-codex-turn-state': 'state-1' }, 'state-1'],
    [{ 'x-codex-turn-state': '' }, null],
    [{ 'x-codex-turn-state': 'a\nb' }, null],
    [{ 'x-codex-turn-state': 'é' }, null],
    [{ 'x-codex-turn-state': 'x'.repeat(4096) }, 'x'.repeat(4096)],
    [{ 'x-codex-turn-state': 'x'.repeat(4097) }, null],
    [{}, null],
  ])('headers of Codex carry the turn state of the client: %.60j', (headers, state) => {
    expect(turnStateOf(upstreamTurn({ headers }))).toBe(state);
  });
});
