import type { ModelEvent } from '../../providers/index.js';
import type { Behaviour, TappedTurn } from './provider-tap.js';
import { requireRule } from '../events/rule.js';
import type { Answer } from './answer.js';
import type { Check } from './check.js';
import { type ContractService, IDLE_MS } from './contract-service.js';
import { type Transport, TRANSPORTS } from './transports.js';

/** Part of errors that clients must not see. */
export const SECRET = 'sk-a-secret-of-the-provider at http://upstream.internal:9000';

/** Output after `finish`. */
export const AFTERTHOUGHT = 'This comes after the end.';

/** A faulty behaviour of a provider. */
export interface Misbehaviour {
  readonly what: string;
  readonly behave: Behaviour;
  /** The required end of the turn; `unanswered` is refused over JSON, and failed over a stream. */
  readonly end: 'refused' | 'failed' | 'answered' | 'unanswered';
  /** The provider stops writing, and never ends the turn. */
  readonly hangs?: boolean;
}

/** All faulty behaviours, before and after the first event of the provider. */
export const MISBEHAVIOURS: readonly Misbehaviour[] = [
  { what: 'throws instead of answering', behave: fail, end: 'refused' },
  { what: 'throws before its first event', behave: after(nothing, fail), end: 'refused' },
  { what: 'throws a value that is not an Error', behave: after(nothing, () => throwThis(SECRET)), end: 'refused' },
  { what: 'returns no iterable', behave: () => null as never, end: 'refused' },
  { what: 'ends without output', behave: nothing, end: 'refused' },
  { what: 'begins with an invalid event', behave: after(nothing, () => [null]), end: 'refused' },
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

/** A beginning, followed by the events or the effect of a function. */
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

/** The provider's events up to the first that is visible to the client. */
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

/** A faulty provider fails only its own turn, in the form of the protocol. */
export const MISBEHAVIOUR_CHECKS: readonly Check[] = MISBEHAVIOURS.map((misbehaviour) => ({
  name: `keeps the rules of the stream when it ${misbehaviour.what}`,
  run: async (service) => {
    for (const transport of Object.values(TRANSPORTS)) {
      requireEnd(await askWhile(service, misbehaviour, transport), misbehaviour, transport);
      await service.askWell('Say hello.', { transport });
    }
    service.requireUnseen([SECRET, AFTERTHOUGHT]);
  },
}));

async function askWhile(
  service: ContractService,
  { behave, hangs = false }: Misbehaviour,
  transport: Transport,
): Promise<Answer> {
  const { promise: silence, resolve } = Promise.withResolvers<undefined>();
  service.tap.next((turn) =>
    behave({
      ...turn,
      get over() {
        resolve(undefined);
        return turn.over;
      },
    }),
  );
  const answer = service.ask('Say hello.', { transport });
  if (hangs) {
    await Promise.race([service.within(silence, 'the silence of the provider'), answer]);
    service.clock.advance(IDLE_MS);
  }
  return answer;
}

function requireEnd(
  { response, refusal, seen }: Answer,
  { end: given, what }: Misbehaviour,
  { name }: Transport,
): void {
  const end = given === 'unanswered' ? (name === 'JSON' ? 'refused' : 'failed') : given;
  const status: string = response?.status ?? (refusal === null ? 'unknown' : 'refused');
  const isRight = end === 'answered' ? status === 'completed' || status === 'incomplete' : status === end;
  requireRule(isRight, `a turn whose provider ${what} must be ${end}, not ${status}: ${seen}`);
}
