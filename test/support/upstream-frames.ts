import type { ForeignItem, Item } from '../../src/protocol/index.js';
import { type Profile, PROFILES } from '../../src/providers/responses/profile.js';
import { type Baseline, baselineAfter } from '../../src/providers/responses/request/baseline.js';
import { conversationOf } from '../../src/providers/responses/request/conversation.js';
import { toFrame } from '../../src/providers/responses/request/to-frame.js';
import { toRequest } from '../../src/providers/responses/request/to-request.js';
import type { UpstreamRequest } from '../../src/providers/responses/request/upstream-request.js';
import { type TurnTraits, upstreamOptions, upstreamTurn } from './upstream-turn.js';

/** A frame that was read. */
export type ReadFrame = Readonly<Record<string, unknown>> & {
  readonly input: readonly Item[];
  readonly isIncremental: boolean;
};

export const TODAY = PROFILES['codex-2026-11'];
export const FEBRUARY = PROFILES['codex-2026-02'];

/** A message of the user, with an id of this service. */
export const say = (text: string): Item => ({
  type: 'message',
  id: 'msg_0199aaaabbbb7ccc8ddd000000000001',
  status: 'completed',
  role: 'user',
  content: [{ type: 'input_text', text }],
});

export const FIRST = say('Look.');
export const CALL: Item = {
  type: 'function_call',
  id: 'fc_0123456789abcdef01',
  status: 'completed',
  call_id: 'call_1',
  name: 'look',
  arguments: '{"at":"sea"}',
};
export const OUTPUT: Item = { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'blue' };
export const ANSWER: Item = {
  type: 'message',
  id: 'msg_0123456789abcdef01',
  status: 'completed',
  role: 'assistant',
  phase: 'final_answer',
  content: [{ type: 'output_text', text: 'The sea.', annotations: [], logprobs: [] }],
};

/** The request of a turn in a session. */
export function request(context: readonly Item[], traits: TurnTraits = {}): UpstreamRequest {
  const turn = upstreamTurn({ sessionId: 's', ...traits, context });
  return toRequest(turn, conversationOf(turn), upstreamOptions());
}

/** The baseline after a first request with `FIRST` was answered with these items. */
export function answered(profile: Profile, output: readonly ForeignItem[], traits: TurnTraits = {}): Baseline {
  const first = request([FIRST], traits);
  toFrame(first, null, { profile, turnState: null });
  return baselineAfter(first, 'resp_u1', output, profile);
}

/** The frame of a request on a socket with this baseline. */
export function frame(wanted: UpstreamRequest, baseline: Baseline | null, profile: Profile): ReadFrame {
  const { text, isIncremental } = toFrame(wanted, baseline, { profile, turnState: null });
  return { ...(JSON.parse(text) as ReadFrame), isIncremental };
}

export const typesOf = (items: readonly Item[]): readonly string[] => items.map(({ type }) => type);
