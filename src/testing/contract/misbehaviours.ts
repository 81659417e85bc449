import type { ModelEvent } from '../../providers/index.js';
import type { Behaviour, TappedTurn } from './provider-tap.js';

/** What no client may see of what a provider throws. */
export const SECRET = 'sk-a-secret-of-the-provider at http://upstream.internal:9000';

/** What a provider says that has said enough. */
export const AFTERTHOUGHT = 'This comes after the end.';

/** A way in which a provider can be wrong. */
export interface Misbehaviour {
  readonly what: string;
  readonly behave: Behaviour;
  /** How the turn has to end; `unanswered` is refused over JSON, and failed where a stream has begun. */
  readonly end: 'refused' | 'failed' | 'answered' | 'unanswered';
  /** It falls silent for ever. */
  readonly hangs?: boolean;
}

/** Every way, before and after the first word of the provider. */
export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  { what: 'throws instead of answering', behave: fail, end: 'refused' },
  { what: 'throws before its first event', behave: after(nothing, fail), end: 'refused' },
  { what: 'throws what is no Error', behave: after(nothing, () => throwThis(SECRET)), end: 'refused' },
  { what: 'gives nothing to read', behave: () => null as never, end: 'refused' },
  { what: 'ends without a word', behave: nothing, end: 'refused' },
  { what: 'begins with nonsense', behave: after(nothing, () => [null]), end: 'refused' },
  { what: 'throws after its first event', behave: after(aWord, fail), end: 'failed' },
  { what: 'ends without finish', behave: aWord, end: 'failed' },
  { what: 'is silent from the beginning', behave: after(nothing, hang), end: 'unanswered', hangs: true },
  { what: 'falls silent after its first event', behave: after(aWord, hang), end: 'failed', hangs: true },
  ...nonsense({
    'no event at all': null,
    'an event of no known type': { type: 'telepathy' },
    'text that is a number': { type: 'text', delta: 5 },
    'arguments without a call': { type: 'function_call_arguments', delta: '{}' },
    'a call without a name': { type: 'function_call' },
    'tokens in fractions': { type: 'usage', output: 1.5 },
    'an unknown reason to finish': { type: 'finish', reason: 'boredom' },
  }),
  { what: 'goes on after finish', behave: goOn, end: 'answered' },
];

function nonsense(events: Readonly<Record<string, unknown>>): readonly Misbehaviour[] {
  return Object.entries(events).map(([what, event]) => ({
    what: `yields ${what}`,
    behave: after(aWord, () => [event]),
    end: 'failed',
  }));
}

/** A beginning, and what follows it: events, or whatever the function does. */
function after(
  begin: Behaviour,
  then: (turn: TappedTurn) => Iterable<unknown> | Promise<Iterable<unknown>>,
): Behaviour {
  return async function* (turn) {
    yield* begin(turn);
    yield* await then(turn);
  };
}

async function* nothing(): AsyncGenerator<never> {
  yield* [];
}

/** What the provider says first, up to something that the client can see. */
async function* aWord({ events }: TappedTurn): AsyncGenerator<ModelEvent> {
  for (;;) {
    const { done, value } = await events.next();
    if (done === true || value.type === 'finish') break;
    yield value;
    if (value.type !== 'metadata' && value.type !== 'usage') return;
  }
  yield { type: 'text', delta: 'A word.' };
}

async function* goOn({ events }: TappedTurn): AsyncGenerator {
  for await (const event of events) {
    yield event.type === 'finish' ? [event, { type: 'text', delta: AFTERTHOUGHT }, null] : event;
  }
  yield { type: 'text', delta: AFTERTHOUGHT };
  fail();
}

function fail(): never {
  throw new Error(SECRET);
}

function throwThis(value: unknown): never {
  throw value;
}

async function hang({ over }: TappedTurn): Promise<never[]> {
  await over;
  return [];
}
