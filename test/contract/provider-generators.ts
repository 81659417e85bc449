import { ModelError, type ModelEvent, type Turn } from '../../src/index.js';

/** How a provider answers, right or wrong. */
export type Generate = (turn: Turn, options: { readonly signal: AbortSignal }) => AsyncGenerator<ModelEvent>;

const finish: ModelEvent = { type: 'finish', reason: 'stop' };
const say = (delta: string): ModelEvent => ({ type: 'text', delta });

/** A promise of nothing. */
export const never = (): Promise<never> => new Promise(() => undefined);

/** Forgets to finish. */
export const endsEarly: Generate = async function* () {
  yield say('And then');
};

/** Shows its key to the client. */
export const leaks: Generate = async function* () {
  yield* [];
  throw new ModelError('server_error', 'the key is sk-acme');
};

/** Hangs, and never hears that nobody waits. */
export const deaf: Generate = async function* () {
  yield say('I am listening');
  await never();
};

/** Says the same whatever was said. */
export const answersAnyway: Generate = async function* () {
  yield say('All is well.');
  yield finish;
};

/** Calls a function whatever was said. */
export function calls(name: string, json: string): Generate {
  return async function* () {
    yield { type: 'function_call', name };
    yield { type: 'function_call_arguments', delta: json };
    yield finish;
  };
}

/** Says something else each time. */
export function countUp(): Generate {
  let count = 0;
  return async function* () {
    count += 1;
    yield say(`This is ${count}.`);
    yield finish;
  };
}

/** Calls, and does not know what comes back. */
export function takesNoOutputs(): Generate {
  const call = calls('get_weather', '{}');
  return async function* (turn, options) {
    if (turn.context.at(-1)?.type === 'function_call_output') throw new Error('what is this?');
    yield* call(turn, options);
  };
}

/** Keeps what is said to it in one place for all turns. */
export function mixUp(): Generate {
  let question = '';
  return async function* ({ context }) {
    question = JSON.stringify(context.at(-1)?.content);
    yield say('You said: ');
    yield say(question);
    yield finish;
  };
}

/** Lets go of a turn when another begins. */
export function takeOver(): Generate {
  let current = 0;
  return async function* () {
    current += 1;
    const own = current;
    yield say('One moment, ');
    if (own === current) yield finish;
  };
}

/** Fails the first time only. */
export function failsOnce(failure: Generate): Generate {
  let failed = false;
  return async function* (turn, options) {
    if (!failed) {
      failed = true;
      yield* failure(turn, options);
    }
    yield* answersAnyway(turn, options);
  };
}

/** Never gives its place back. */
export function once(): Generate {
  let busy = false;
  return async function* () {
    if (busy) throw new Error('busy');
    busy = true;
    yield say('Only for you.');
    yield finish;
  };
}
