import { describe, expect, it } from '@jest/globals';

import type { Item } from '../../../protocol/index.js';
import {
  ANSWER,
  answered,
  CALL,
  FEBRUARY,
  FIRST,
  frame,
  OUTPUT,
  type ReadFrame,
  request,
  say,
  TODAY,
  typesOf,
} from '../../../../test/support/upstream-frames.js';
import { type TurnTraits, upstreamOptions, upstreamTurn } from '../../../../test/support/upstream-turn.js';
import type { Profile } from '../profile.js';
import { baselineAfter } from './baseline.js';
import { conversationOf } from './conversation.js';
import { toFrame } from './to-frame.js';
import { toRequest } from './to-request.js';

describe('upstreams §4.4: the profile of February 2026', () => {
  const baseline = answered(FEBRUARY, [CALL], { parameters: { instructions: 'Be brief.' } });
  const next = (context: readonly Item[]): ReadFrame =>
    frame(request(context, { parameters: { instructions: 'Be brief.' } }), baseline, FEBRUARY);

  it('a frame of February 2026 appends the items after the input of the last request, and nothing else', () => {
    const appended = next([FIRST, CALL, OUTPUT]);
    expect(appended.isIncremental).toBe(true);
    expect(Object.keys(appended).toSorted()).toEqual(['input', 'isIncremental', 'type']);
    expect(appended['type']).toBe('response.append');
    expect(typesOf(appended.input)).toEqual(['function_call', 'function_call_output']);
  });

  it.each<readonly [what: string, context: readonly Item[]]>([
    ['is equal, but not longer', [FIRST]],
    ['is shorter', []],
    ['begins otherwise', [say('Listen.'), CALL, OUTPUT]],
  ])('a frame of February 2026 creates a response with the whole input if it %s', (_, context) => {
    const created = next(context);
    expect(created).toMatchObject({ type: 'response.create', instructions: 'Be brief.', isIncremental: false });
    expect(created.input).toHaveLength(context.length);
    expect(created).not.toHaveProperty('previous_response_id');
  });

  it('a frame of February 2026 creates a response if another member changed', () => {
    expect(frame(request([FIRST, CALL, OUTPUT]), baseline, FEBRUARY).isIncremental).toBe(false);
  });

  it('a frame extends an append in turn', () => {
    const second = request([FIRST, CALL, OUTPUT], { parameters: { instructions: 'Be brief.' } });
    toFrame(second, baseline, { profile: FEBRUARY, turnState: null });
    const after = baselineAfter(second, 'resp_u2', [ANSWER], FEBRUARY);
    const third = request([FIRST, CALL, OUTPUT, ANSWER, say('And?')], { parameters: { instructions: 'Be brief.' } });
    expect(typesOf(frame(third, after, FEBRUARY).input)).toEqual(['message', 'message']);
  });
});

describe('upstreams §4.4: the profile of today', () => {
  const baseline = answered(TODAY, [CALL]);

  it('a frame names the last response and repeats the members beside the input', () => {
    const next = frame(request([FIRST, CALL, OUTPUT]), baseline, TODAY);
    expect(next).toMatchObject({
      type: 'response.create',
      previous_response_id: 'resp_u1',
      stream: true,
      store: false,
    });
    expect(next).toMatchObject({ model: 'gpt-5', prompt_cache_key: 's', isIncremental: true });
    expect(typesOf(next.input)).toEqual(['function_call_output']);
  });

  it('a frame may have no new items', () => {
    expect(frame(request([FIRST, CALL]), baseline, TODAY)).toMatchObject({ input: [], isIncremental: true });
  });

  it.each<readonly [what: string, context: readonly Item[]]>([
    ['lacks what the upstream returned', [FIRST, OUTPUT]],
    ['begins otherwise', [say('Listen.'), CALL, OUTPUT]],
    ['is shorter', [FIRST]],
    ['has another call', [FIRST, { ...CALL, arguments: '{"at":"sky"}' }, OUTPUT]],
    ['has another phase', [FIRST, { ...CALL, phase: 'commentary' }, OUTPUT]],
  ])('a frame sends everything if the input %s', (_, context) => {
    const next = frame(request(context), baseline, TODAY);
    expect(next.isIncremental).toBe(false);
    expect(next.input).toHaveLength(context.length);
    expect(next).not.toHaveProperty('previous_response_id');
  });

  it.each<readonly [name: string, value: unknown, isIncremental: boolean]>([
    ['model', 'gpt-5-mini', false],
    ['instructions', 'Be brief.', false],
    ['tools', [{ type: 'web_search' }], false],
    ['tool_choice', 'none', false],
    ['parallel_tool_calls', false, false],
    ['reasoning', { effort: 'low' }, false],
    ['include', ['web_search_call.results'], false],
    ['service_tier', 'flex', false],
    ['prompt_cache_key', 'else', false],
    ['text', { verbosity: 'low' }, false],
    ['client_metadata', { turn_id: '2' }, true],
    ['stream_options', { include_obfuscation: false }, true],
    ['access_programs', { cyber: true }, true],
  ])('a frame compares the member %s', (name, value, isIncremental) => {
    const parameters = { [name]: value };
    expect(frame(request([FIRST, CALL, OUTPUT], { parameters }), baseline, TODAY)).toMatchObject({ isIncremental });
  });

  it('a frame has a baseline of the same size after any number of items', () => {
    const long = request(Array.from({ length: 500 }, (_, index) => say(`${index}`.repeat(1000))));
    const after = baselineAfter(long, 'resp_u9', [ANSWER], TODAY);
    expect(JSON.stringify(after).length).toBeLessThan(400);
    expect(after.count).toBe(501);
  });
});

describe('upstreams §4.1: the turn state', () => {
  const textWith = (profile: Profile, traits: TurnTraits = {}): Readonly<Record<string, unknown>> =>
    JSON.parse(toFrame(request([FIRST], traits), null, { profile, turnState: 'state-1' }).text) as ReadFrame;

  it('the turn state is in client_metadata today, beside what the client sent', () => {
    const own = { 'x-codex-window-id': 'w', 'x-codex-turn-state': 'old' };
    expect(textWith(TODAY)['client_metadata']).toEqual({ 'x-codex-turn-state': 'state-1' });
    expect(textWith(TODAY, { parameters: { client_metadata: own } })['client_metadata']).toEqual({
      'x-codex-window-id': 'w',
      'x-codex-turn-state': 'state-1',
    });
  });

  it('the turn state was in the handshake in February 2026', () => {
    expect(textWith(FEBRUARY)).not.toHaveProperty('client_metadata');
  });

  it('the turn state is not sent to a server that takes no client_metadata', () => {
    const turn = upstreamTurn({ context: [FIRST], parameters: { client_metadata: { a: 'b' } } });
    const wanted = toRequest(turn, conversationOf(turn), upstreamOptions({ omit: ['client_metadata'] }));
    expect(toFrame(wanted, null, { profile: TODAY, turnState: 'state-1' }).text).not.toContain('client_metadata');
  });
});
