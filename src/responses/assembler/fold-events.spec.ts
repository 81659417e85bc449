import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type StreamEvent, toUsage } from '../../protocol/index.js';
import { checkEventOrder, SequentialIdGenerator } from '../../testing/index.js';
import { resolveSettings } from '../turn/resolve-settings.js';
import type { AssemblerNote, AssemblerState } from './state.js';
import { foldEvents } from './fold-events.js';
import { type OutputEvent, ResponseAssembler } from './response-assembler.js';

const SETTINGS = { ...resolveSettings({ model: 'm' }, null), background: true };

/** One thing that happens to a response on its way. */
type Step =
  | { readonly type: 'queue' | 'start' | 'end' }
  | { readonly type: 'push'; readonly event: OutputEvent }
  | { readonly type: 'origin'; readonly upstreamId: string }
  /** What ends a pass, what the model is given then, what begins the next one, what it keeps, and what a takeover leaves out. */
  | { readonly type: 'close' | 'give' | 'pass' | 'keep' | 'drop' };

/** What was written, with the step that wrote it. */
interface Entry {
  readonly step: number;
  readonly event?: StreamEvent;
  readonly note?: AssemblerNote;
}

interface Uncut {
  readonly log: readonly Entry[];
  /** The state after each step. */
  readonly states: readonly AssemblerState[];
}

const key = fc.constantFrom(undefined, undefined, 'a', 'b');
const text = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('', '\u{1F600}', '\uD800', '"\\'));
const withKey = (members: object, keyOf: string | undefined): OutputEvent =>
  (keyOf === undefined ? members : { ...members, key: keyOf }) as OutputEvent;
const search = { type: 'web_search_call', status: 'in_progress', 7: 'odd', action: { query: 'x' } };

/** Texts that often begin like one another. */
const same = fc.nat(4).map((length) => 'a'.repeat(length));
const part = fc.constantFrom(undefined, undefined, 0, 1);
const source = { type: 'file_citation', file_id: 'file_1', index: 0, filename: 'f' };
const likely = { token: 'a', logprob: 0, bytes: [97], top_logprobs: [] };
const oddPart = fc.constant({ type: 'hologram', of: 7 });
const textPart = (type: string): fc.Arbitrary<object> => same.map((said) => ({ type, text: said }));
const upstreams = {
  m: { id: 'msg_UPSTREAM0000000001', type: 'message', role: 'assistant', phase: 'commentary', content: [] },
  r: { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'draft' },
  f: { id: 'fc_1', type: 'function_call', call_id: 'c1', name: 'f', arguments: '', caller: { type: 'direct' } },
  x: { type: 'custom_tool_call', call_id: 'c2', name: 'x', namespace: 'n', input: '' },
} as const;

/** What is said of the items of an upstream, one key each. */
const upstreamEvent: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom(...Object.entries(upstreams)).map(([keyOf, item]) => ({ type: 'item.open', key: keyOf, item })),
  fc
    .tuple(fc.constantFrom('text', 'refusal'), same, part)
    .map(([type, delta, index]) => ({ type, delta, part: index, key: 'm' })),
  fc.constant({ type: 'annotation', annotation: source, key: 'm' }),
  fc.constant({ type: 'text', delta: 'a', logprobs: [likely], key: 'm' }),
  fc
    .tuple(fc.constantFrom('reasoning', 'reasoning_summary'), same, part)
    .map(([type, delta, index]) => ({ type, delta, part: index, key: 'r' })),
  same.map((content) => ({ type: 'reasoning_encrypted', content, key: 'r' })),
  same.map((delta) => ({ type: 'function_call_arguments', delta, key: 'f' })),
  same.map((delta) => ({ type: 'custom_tool_call_input', delta, key: 'x' })),
  fc
    .array(
      fc.oneof(
        fc.record({
          type: fc.constant('output_text'),
          text: same,
          annotations: fc.subarray([source, source]),
          logprobs: fc.subarray([likely]),
        }),
        same.map((refusal) => ({ type: 'refusal', refusal })),
        oddPart,
      ),
      { maxLength: 3 },
    )
    .map((content) => ({
      type: 'item.close',
      key: 'm',
      item: { ...upstreams.m, content, status: 'completed', phase: 'final_answer' },
    })),
  fc
    .tuple(
      fc.array(textPart('summary_text'), { maxLength: 2 }),
      fc.array(fc.oneof({ weight: 3, arbitrary: textPart('reasoning_text') }, oddPart), { maxLength: 3 }),
    )
    .map(([summary, content]) => ({
      type: 'item.close',
      key: 'r',
      item: { ...upstreams.r, summary, content, encrypted_content: 'final' },
    })),
  same.map((said) => ({
    type: 'item.close',
    key: 'f',
    item: { ...upstreams.f, arguments: said, status: 'completed' },
  })),
  same.map((said) => ({ type: 'item.close', key: 'x', item: { ...upstreams.x, input: said, status: 'incomplete' } })),
);

const event: fc.Arbitrary<OutputEvent> = fc
  .tuple(
    fc.oneof(
      text.map((delta) => ({ type: 'text', delta })),
      text.map((delta) => ({
        type: 'text',
        delta,
        logprobs: [{ token: delta, logprob: -1, bytes: [], top_logprobs: [] }],
      })),
      text.map((delta) => ({ type: 'refusal', delta })),
      fc.constant({
        type: 'annotation',
        annotation: { type: 'url_citation', url: 'u', title: 't', start_index: 0, end_index: 1 },
      }),
      text.map((delta) => ({ type: 'reasoning', delta })),
      fc
        .tuple(text, fc.constantFrom(undefined, 0, 1, 2))
        .map(([delta, part]) => ({ type: 'reasoning_summary', delta, part })),
      fc.constant({ type: 'reasoning_open' }),
      text.map((content) => ({ type: 'reasoning_encrypted', content })),
      fc.constantFrom(
        { type: 'function_call', name: 'f' },
        { type: 'function_call', name: 'g', callId: 'c', namespace: 'n' },
      ),
      text.map((delta) => ({ type: 'function_call_arguments', delta })),
      text.map((delta) => ({ type: 'custom_tool_call_input', delta })),
      fc.constantFrom({ type: 'custom_tool_call', name: 'h' }, { type: 'end' }),
      fc.constant({ type: 'item.open', key: 'p', item: search }),
      fc.constant({
        type: 'item.event',
        key: 'p',
        event: { type: 'response.web_search_call.searching', sequence_number: 9, hint: 1 },
      }),
      fc
        .constantFrom(search, { ...search, status: 'completed' })
        .map((item) => ({ type: 'item.close', key: 'p', item })),
      fc.nat(9).map((output) => ({ type: 'usage', input: 3, output })),
    ),
    key,
  )
  .map(([members, keyOf]) =>
    'key' in members || members.type === 'usage' ? (members as OutputEvent) : withKey(members, keyOf),
  );

const middles = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: event.map((pushed) => ({ type: 'push', event: pushed }) as const) },
    {
      weight: 12,
      arbitrary: upstreamEvent.map((pushed) => ({ type: 'push', event: pushed as OutputEvent }) as const),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('u1', 'u2').map((upstreamId) => ({ type: 'origin', upstreamId }) as const),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('close', 'give', 'pass', 'keep', 'drop').map((type) => ({ type }) as const),
    },
  ),
  { maxLength: 24 },
);

const steps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(fc.boolean(), middles)
  .map(([isQueued, middle]) => [
    ...(isQueued ? [{ type: 'queue' } as const] : []),
    { type: 'start' },
    ...keepPossible(middle),
    { type: 'end' },
  ]);

function assemble(state?: AssemblerState): ResponseAssembler {
  const identity = { id: 'resp_1', createdAt: 1, requestedTier: 'auto', settings: SETTINGS } as const;
  // Another process has other ids.
  const ids = new SequentialIdGenerator();
  if (state !== undefined) for (let used = 0; used < 500; used++) ids.next('used');
  return new ResponseAssembler({ ...identity, ids, writing: 'events and notes', maxOutputCharacters: 5000 }, state);
}

function take(assembler: ResponseAssembler, step: Step): void {
  switch (step.type) {
    case 'queue':
      assembler.queue();
      return;
    case 'start':
      assembler.start();
      if (assembler.state.passes.length === 0) assembler.beginPass();
      return;
    case 'push':
      assembler.push(step.event);
      return;
    case 'origin':
      assembler.nameOrigin({ provider: 'p', upstreamId: step.upstreamId });
      return;
    case 'close':
      assembler.endPass({ reason: 'stop', serviceTier: 'flex' });
      return;
    case 'give':
      assembler.give([{ type: 'function_call_output', id: 'fco_1', output: 'x' }]);
      return;
    case 'pass':
      assembler.beginPass();
      return;
    case 'keep':
      assembler.keep({ signature: 's' });
      return;
    case 'drop':
      assembler.dropItems();
      return;
    case 'end':
      assembler.endPass({ reason: 'stop' });
      assembler.terminate(assembler.conclude({ status: 'completed', usage: assembler.usage }, 2));
  }
}

/** Leaves out what no model may say at its place. */
function keepPossible(middle: readonly Step[]): readonly Step[] {
  let possible: readonly Step[] = [];
  for (const step of middle) {
    const assembler = assemble();
    try {
      for (const one of [{ type: 'start' } as const, ...possible, step]) take(assembler, one);
      possible = [...possible, step];
    } catch {
      // It would end the turn.
    }
  }
  return possible;
}

/** What an assembler wrote in a step, notes at their places. */
function readLog(assembler: ResponseAssembler, step: number): readonly Entry[] {
  const events = assembler.takeEvents().map((one) => ({ step, event: one, at: one.sequenceNumber + 0.5 }));
  const notes = assembler.takeNotes().map((note) => ({ step, note, at: note.before }));
  return [...notes, ...events].sort((one, other) => one.at - other.at);
}

function runUncut(all: readonly Step[]): Uncut {
  const assembler = assemble();
  const log: Entry[] = [];
  const states: AssemblerState[] = [];
  for (const [index, step] of all.entries()) {
    take(assembler, step);
    log.push(...readLog(assembler, index));
    states.push(structuredClone(assembler.state));
  }
  return { log, states };
}

function fold(log: readonly Entry[]): AssemblerState {
  const events = log.map((entry) => entry.event).filter((one) => one !== undefined);
  const notes = log.map((entry) => entry.note).filter((one) => one !== undefined);
  return foldEvents({ events, notes });
}

/** A value as JSON, with ids named in the order of their appearance. */
function normalise(value: unknown): string {
  const names = new Map<string, string>();
  const rename = (id: string): string => names.get(id) ?? names.set(id, `id${names.size}`).get(id) ?? '';
  return JSON.stringify(value).replaceAll(/\b(?:msg|rs|fc|ctc|call|ws)_[0-9a-f]{32}/g, rename);
}

function toWire(log: readonly Entry[]): readonly unknown[] {
  return log.flatMap(({ event: one }) => (one === undefined ? [] : [JSON.parse(`${one.json}}`) as unknown]));
}

function isInOrder(log: readonly Entry[]): boolean {
  try {
    checkEventOrder(toWire(log), { transport: 'ws' });
    return true;
  } catch {
    return false;
  }
}

describe('an assembler that goes on from a log', () => {
  it('an assembler that goes on from a log knows what the one before it knew, wherever that was cut', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { log, states } = runUncut(all);
        const folded = states.map((_, index) => fold(log.filter(({ step }) => step <= index)));
        expect(folded).toEqual(states);
      }),
    );
  });

  it('an assembler that goes on from a log writes the same as one that was never cut, wherever it was', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { log, states } = runUncut(all);
        for (let cut = 0; cut <= log.length; cut++) {
          // A delta and the half character that waits behind it belong together: a pass that was cut between them is left out.
          if (log[cut]?.note?.type === 'half') continue;
          const before = log.slice(0, cut);
          const assembler = assemble(fold(before));
          const [last, next] = [before.at(-1)?.step ?? -1, log[cut]?.step];
          // A step that was not over when the log ended is taken again.
          for (const step of all.slice(next === last ? last : last + 1)) take(assembler, step);
          expect(normalise(toWire([...before, ...readLog(assembler, 0)]))).toBe(normalise(toWire(log)));
          expect(normalise(assembler.state)).toBe(normalise(states.at(-1)));
        }
      }),
    );
  });

  it('an assembler that goes on from a log can close as incomplete what was open at the cut', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { log } = runUncut(all);
        // An upstream may end an item otherwise than it has begun.
        fc.pre(isInOrder(log));
        for (let cut = 0; cut < log.length; cut++) {
          const before = log.slice(0, cut);
          const assembler = assemble(fold(before));
          if (all[0]?.type === 'queue') assembler.queue();
          assembler.start();
          assembler.cutItems();
          const reason = 'max_output_tokens' as const;
          const outcome = {
            status: 'incomplete',
            usage: toUsage({ input: 1, output: 1 }),
            incompleteReason: reason,
          } as const;
          assembler.terminate(assembler.conclude(outcome, 2));
          const whole = toWire([...before, ...readLog(assembler, 0)]);
          checkEventOrder(whole, { transport: 'ws' });
        }
      }),
    );
  });
});
