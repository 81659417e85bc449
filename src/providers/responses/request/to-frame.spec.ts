import { describe, expect, it } from '@jest/globals';

import type { ForeignItem, Item } from '../../../protocol/index.js';
import { type TurnTraits, upstreamOptions, upstreamTurn } from '../../../../test/support/upstream-turn.js';
import { type Profile, PROFILES } from '../profile.js';
import { baselineAfter } from './baseline-after.js';
import type { Baseline } from './baseline.js';
import { conversationOf } from './conversation.js';
import { toFrame } from './to-frame.js';
import { toRequest } from './to-request.js';
import type { UpstreamRequest } from './upstream-request.js';

type Frame = Readonly<Record<string, unknown>> & { readonly input: readonly Item[] };

const TODAY = PROFILES['codex-2026-11'];
const FEBRUARY = PROFILES['codex-2026-02'];

const say = (text: string, id = `msg_${'0'.repeat(32)}`): Item => ({
  type: 'message',
  id,
  status: 'completed',
  role: 'user',
  content: [{ type: 'input_text', text }],
});

const CALL: Item = {
  type: 'function_call',
  id: 'fc_0123456789abcdef01',
  status: 'completed',
  call_id: 'call_1',
  name: 'look',
  arguments: '{"at":"sea"}',
};
const ANSWER: Item = {
  type: 'message',
  id: 'msg_0123456789abcdef01',
  status: 'completed',
  role: 'assistant',
  phase: 'final_answer',
  content: [{ type: 'output_text', text: 'The sea.', annotations: [], logprobs: [] }],
};
const OUTPUT: Item = { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'blue' };
const FIRST = say('Look.');

function request(context: readonly Item[], traits: TurnTraits = {}): UpstreamRequest {
  const turn = upstreamTurn({ sessionId: 's', ...traits, context });
  return toRequest(turn, conversationOf(turn), upstreamOptions());
}

/** The baseline after a first request with `FIRST` was answered with these items. */
function answered(profile: Profile, output: readonly ForeignItem[], traits: TurnTraits = {}): Baseline {
  const first = request([FIRST], traits);
  toFrame(first, null, { profile, turnState: null });
  return baselineAfter(first, 'resp_u1', output, profile);
}

function frame(
  wanted: UpstreamRequest,
  baseline: Baseline | null,
  profile: Profile,
): Frame & { isIncremental: boolean } {
  const { text, isIncremental } = toFrame(wanted, baseline, { profile, turnState: null });
  return { ...(JSON.parse(text) as Frame), isIncremental };
}

const textsOf = (items: readonly Item[]): readonly string[] => items.map(({ type }) => type);

describe('upstreams §4.4: the profile of February 2026', () => {
  const baseline = answered(FEBRUARY, [CALL], { parameters: { instructions: 'Be brief.' } });
  const next = (context: readonly Item[]): Frame & { isIncremental: boolean } =>
    frame(request(context, { parameters: { instructions: 'Be brief.' } }), baseline, FEBRUARY);

  it('appends the items after the input of the last request, and nothing else', () => {
    const appended = next([FIRST, CALL, OUTPUT]);
    expect(appended.isIncremental).toBe(true);
    expect(Object.keys(appended).toSorted()).toEqual(['input', 'isIncremental', 'type']);
    expect(appended['type']).toBe('response.append');
    expect(textsOf(appended.input)).toEqual(['function_call', 'function_call_output']);
  });

  it.each<readonly [what: string, context: readonly Item[]]>([
    ['is equal, but not longer', [FIRST]],
    ['is shorter', []],
    ['begins otherwise', [say('Listen.'), CALL, OUTPUT]],
  ])('creates a response with the whole input if it %s', (_, context) => {
    const created = next(context);
    expect(created).toMatchObject({ type: 'response.create', instructions: 'Be brief.', isIncremental: false });
    expect(created.input).toHaveLength(context.length);
    expect(created).not.toHaveProperty('previous_response_id');
  });

  it('creates a response if another member changed', () => {
    expect(frame(request([FIRST, CALL, OUTPUT]), baseline, FEBRUARY).isIncremental).toBe(false);
  });

  it('extends an append in turn', () => {
    const second = request([FIRST, CALL, OUTPUT], { parameters: { instructions: 'Be brief.' } });
    toFrame(second, baseline, { profile: FEBRUARY, turnState: null });
    const after = baselineAfter(second, 'resp_u2', [ANSWER], FEBRUARY);
    const third = request([FIRST, CALL, OUTPUT, ANSWER, say('And?')], { parameters: { instructions: 'Be brief.' } });
    expect(textsOf(frame(third, after, FEBRUARY).input)).toEqual(['message', 'message']);
  });
});

describe('upstreams §4.4: the profile of today', () => {
  const parent = { upstreamId: 'resp_u1' };
  const baseline = answered(TODAY, [CALL]);

  it('names the last response and repeats the members beside the input', () => {
    const next = frame(request([FIRST, CALL, OUTPUT]), baseline, TODAY);
    expect(next).toMatchObject({
      type: 'response.create',
      previous_response_id: 'resp_u1',
      stream: true,
      store: false,
    });
    expect(next).toMatchObject({ model: 'gpt-5', prompt_cache_key: 's', isIncremental: true });
    expect(textsOf(next.input)).toEqual(['function_call_output']);
  });

  it('may have no new items', () => {
    expect(frame(request([FIRST, CALL]), baseline, TODAY)).toMatchObject({ input: [], isIncremental: true });
  });

  it.each<readonly [what: string, context: readonly Item[]]>([
    ['lacks what the upstream returned', [FIRST, OUTPUT]],
    ['begins otherwise', [say('Listen.'), CALL, OUTPUT]],
    ['is shorter', [FIRST]],
    ['has another call', [FIRST, { ...CALL, arguments: '{"at":"sky"}' }, OUTPUT]],
    ['has another phase', [FIRST, { ...CALL, phase: 'commentary' }, OUTPUT]],
  ])('sends everything if the input %s', (_, context) => {
    const next = frame(request(context), baseline, TODAY);
    expect(next.isIncremental).toBe(false);
    expect(next.input).toHaveLength(context.length);
    expect(next).not.toHaveProperty('previous_response_id');
  });

  it('sends everything on a new socket', () => {
    expect(frame(request([FIRST, CALL, OUTPUT], { parent }), null, TODAY).isIncremental).toBe(false);
  });

  it.each<readonly [name: string, value: unknown, isIncremental: boolean]>([
    ['model', 'gpt-5-mini', false],
    ['instructions', 'Be brief.', false],
    ['tools', [{ type: 'web_search' }], false],
    ['tool_choice', 'none', false],
    ['parallel_tool_calls', false, false],
    ['reasoning', { effort: 'low' }, false],
    ['include', ['reasoning.encrypted_content'], false],
    ['service_tier', 'flex', false],
    ['prompt_cache_key', 'else', false],
    ['text', { verbosity: 'low' }, false],
    ['client_metadata', { turn_id: '2' }, true],
    ['stream_options', { include_obfuscation: false }, true],
    ['access_programs', { cyber: true }, true],
  ])('compares the member %s', (name, value, isIncremental) => {
    const parameters = { [name]: value };
    expect(frame(request([FIRST, CALL, OUTPUT], { parameters }), baseline, TODAY)).toMatchObject({ isIncremental });
    const known = frame(request([FIRST, CALL, OUTPUT], { parameters, parent }), baseline, TODAY);
    expect(known).toMatchObject({ isIncremental });
  });

  it.each<readonly [what: string, replayed: Item]>([
    [
      'without id and status',
      { type: 'message', id: '', role: 'assistant', phase: 'final_answer', content: ANSWER['content'] },
    ],
    ['without annotations and logprobs', { ...ANSWER, content: [{ type: 'output_text', text: 'The sea.' }] }],
    ['with members in another order', Object.fromEntries(Object.entries(ANSWER).toReversed()) as Item],
    [
      'with null members',
      { ...ANSWER, namespace: null, content: [{ type: 'output_text', text: 'The sea.', annotations: null }] },
    ],
    ['with metadata of Codex', { ...ANSWER, internal_chat_message_metadata_passthrough: { turn_id: 't' } }],
  ])('knows its own items when a client replays them %s', (_, replayed) => {
    const next = frame(request([FIRST, replayed, say('And?')]), answered(TODAY, [ANSWER]), TODAY);
    expect(next.isIncremental).toBe(true);
    expect(next.input).toHaveLength(1);
  });

  it('knows reasoning with content: null, as Codex replays it', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' };
    const next = frame(
      request([FIRST, { ...reasoning, content: null }, CALL, OUTPUT]),
      answered(TODAY, [reasoning, CALL]),
      TODAY,
    );
    expect(textsOf(next.input)).toEqual(['function_call_output']);
  });

  it('leaves out of the baseline what no request can send: reasoning without its content', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };
    const next = frame(request([FIRST, reasoning, CALL, OUTPUT]), answered(TODAY, [reasoning, CALL]), TODAY);
    expect(textsOf(next.input)).toEqual(['function_call_output']);
  });

  it('does not look at the context when the last response is continued', () => {
    const turn = upstreamTurn({ sessionId: 's', parent, input: [OUTPUT] });
    Object.defineProperty(turn, 'context', {
      get: () => {
        throw new Error('the context was built');
      },
    });
    const known = toRequest(turn, conversationOf(turn), upstreamOptions());
    expect(textsOf(frame(known, baseline, TODAY).input)).toEqual(['function_call_output']);
    const after = baselineAfter(known, 'resp_u2', [ANSWER], TODAY);
    expect(frame(request([FIRST, CALL, OUTPUT, ANSWER, say('And?')]), after, TODAY)).toMatchObject({
      previous_response_id: 'resp_u2',
      input: [{ role: 'user' }],
    });
  });

  it('looks at it when the context may be cut', () => {
    const auto = { parameters: { truncation: 'auto' }, parent };
    const cut = frame(request([OUTPUT], auto), answered(TODAY, [CALL], auto), TODAY);
    expect(cut.isIncremental).toBe(false);
  });

  it('sends everything after a continuation that was sent whole', () => {
    const retried = request([FIRST, CALL, OUTPUT], { parent });
    toFrame(retried, baseline, { profile: TODAY, turnState: null });
    toFrame(retried, null, { profile: TODAY, turnState: null });
    const after = baselineAfter(retried, 'resp_u2', [ANSWER], TODAY);
    expect(after.count).toBe(4);
    expect(frame(request([FIRST, CALL, OUTPUT, ANSWER]), after, TODAY)).toMatchObject({
      input: [],
      isIncremental: true,
    });
  });

  it('has a baseline of the same size after any number of items', () => {
    const long = request(Array.from({ length: 500 }, (_, index) => say(`${index}`.repeat(1000))));
    const after = baselineAfter(long, 'resp_u9', [ANSWER], TODAY);
    expect(JSON.stringify(after).length).toBeLessThan(200);
    expect(after.count).toBe(501);
  });
});

describe('upstreams §4.1: the turn state', () => {
  const textWith = (profile: Profile, traits: TurnTraits = {}): Frame =>
    JSON.parse(toFrame(request([FIRST], traits), null, { profile, turnState: 'state-1' }).text) as Frame;

  it('is in client_metadata today, beside what the client sent', () => {
    const own = { 'x-codex-window-id': 'w', 'x-codex-turn-state': 'old' };
    expect(textWith(TODAY)['client_metadata']).toEqual({ 'x-codex-turn-state': 'state-1' });
    expect(textWith(TODAY, { parameters: { client_metadata: own } })['client_metadata']).toEqual({
      'x-codex-window-id': 'w',
      'x-codex-turn-state': 'state-1',
    });
  });

  it('was in the handshake in February 2026', () => {
    expect(textWith(FEBRUARY)).not.toHaveProperty('client_metadata');
  });

  it('is not sent to a server that takes no client_metadata', () => {
    const turn = upstreamTurn({ context: [FIRST], parameters: { client_metadata: { a: 'b' } } });
    const wanted = toRequest(turn, conversationOf(turn), upstreamOptions({ omit: ['client_metadata'] }));
    expect(toFrame(wanted, null, { profile: TODAY, turnState: 'state-1' }).text).not.toContain('client_metadata');
  });
});
