import fc from 'fast-check';

import { assistant, functionCall, functionOutput, user } from './user-items.js';

/** A conversation as a client sends it. */
export interface ArbitraryConversation {
  readonly items: readonly object[];
  /** What was said and called, in order, without outputs. */
  readonly said: readonly string[];
  /** The ids of the calls, in order. */
  readonly callIds: readonly string[];
}

type CallKind = 'function' | 'custom' | 'shell';

interface Call {
  readonly kind: CallKind;
  readonly name: string;
  /** Where its output stands, if outputs do not stand behind their calls. */
  readonly place: number;
}

/** Something that is said, or the calls of one answer. */
type Step = { readonly by: 'user' | 'assistant' | 'system' } | { readonly calls: readonly Call[] };

/** An item, and before which of the other items it stands. */
interface PlacedOutput {
  readonly item: object;
  readonly before: number;
}

const call: fc.Arbitrary<Call> = fc.record({
  kind: fc.constantFrom<CallKind>('function', 'custom', 'shell'),
  name: fc.constantFrom('look', 'listen', 'get_weather'),
  place: fc.nat({ max: 1000 }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ by: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const) }),
  fc.record({ calls: fc.array(call, { minLength: 1, maxLength: 4 }) }),
);

/** Ids as they are in use. */
const toCallId = fc.constantFrom<(count: number) => string>(
  (count) => `call_${String(count).padStart(24, 'a')}`,
  (count) => `functions.look:${count}`,
  (count) => `c${count}`,
  (count) => `${count}-é 👍`,
);

/**
 * Any conversation whose calls are all answered, parallel ones included. Outputs stand behind their calls in any order, or
 * anywhere: before their calls, between messages, several rounds later. It ends with a word of the user.
 */
export const arbitraryConversation: fc.Arbitrary<ArbitraryConversation> = fc
  .record({ steps: fc.array(step, { minLength: 1, maxLength: 7 }), toCallId, isInPlace: fc.boolean() })
  .map(({ steps, toCallId: idOf, isInPlace }) => {
    const items: object[] = [];
    const said: string[] = [];
    const callIds: string[] = [];
    const placed: PlacedOutput[] = [];
    for (const [index, current] of [...steps, { by: 'user' as const }].entries()) {
      if ('by' in current) {
        const text = `words ${index}`;
        items.push(current.by === 'assistant' ? assistant(text) : { ...user(text), role: current.by });
        said.push(`${current.by}: ${text}`);
        continue;
      }
      const round = current.calls.map((made) => ({ ...made, callId: idOf(callIds.push('') - 1) }));
      for (const made of round) {
        callIds[callIds.indexOf('')] = made.callId;
        items.push(toCallItem(made.kind, made.name, made.callId));
        said.push(`call: ${toUpstreamName(made)} of ${made.callId}`);
      }
      for (const { kind, callId, place } of round.toSorted((one, other) => one.place - other.place)) {
        placed.push({ item: toOutputItem(kind, callId), before: isInPlace ? items.length : place });
      }
    }
    return { items: merge(items, placed), said, callIds };
  });

/** What the call of this id is for. */
export function argumentsOf(callId: string): string {
  return `for ${callId}`;
}

/** What the call of this id gave back. */
export function outputOf(callId: string): string {
  return `output of ${callId}`;
}

function toUpstreamName({ kind, name }: Call): string {
  return kind === 'shell' ? 'shell' : name;
}

function toCallItem(kind: CallKind, name: string, callId: string): object {
  const words = argumentsOf(callId);
  if (kind === 'function') return functionCall(callId, name, JSON.stringify({ words }));
  if (kind === 'custom') return { type: 'custom_tool_call', call_id: callId, name, input: words };
  return { type: 'shell_call', call_id: callId, action: { commands: [words] }, status: 'completed' };
}

function toOutputItem(kind: CallKind, callId: string): object {
  const text = outputOf(callId);
  if (kind === 'function') return functionOutput(callId, text);
  if (kind === 'custom') return { type: 'custom_tool_call_output', call_id: callId, output: text };
  const output = [{ stdout: text, stderr: '', outcome: { type: 'exit', exit_code: 0 } }];
  return { type: 'shell_call_output', call_id: callId, output };
}

function merge(items: readonly object[], placed: readonly PlacedOutput[]): readonly object[] {
  // The user's last word stays the last.
  const outputsAt = Map.groupBy(placed, ({ before }) => before % items.length);
  return items.flatMap((item, index) => [...(outputsAt.get(index) ?? []).map((output) => output.item), item]);
}
