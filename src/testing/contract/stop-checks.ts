import { requireRule } from '../events/rule.js';
import { textsOf } from './answer-checks.js';
import type { Check } from './check.js';
import type { ContractService } from './contract-service.js';
import type { HangingTurn } from './provider-subject.js';
import type { Behaviour } from './provider-tap.js';
import { type Transport, TRANSPORTS } from './transports.js';

const QUESTIONS = ['Say one.', 'Say two.'] as const;

/** Concurrent turns, and turns whose client disconnects. */
export const STOP_CHECKS: readonly Check[] = [
  {
    name: 'keeps concurrent turns apart',
    run: async (service) => {
      const alone = service.subject.deterministic === true ? await askInTurn(service) : null;
      const { promise: second, resolve: endSecond } = Promise.withResolvers<undefined>();
      const held = service.tap.next(holdUntil(second));
      const first = service.askWell(QUESTIONS[0]);
      await Promise.race([service.within(held.begun, 'the first event of the provider'), first]);
      const other = await service.askWell(QUESTIONS[1]).finally(() => endSecond(undefined));
      const together = [textsOf(await first), textsOf(other)];
      if (alone === null) return;
      const [one, two] = [JSON.stringify(alone), JSON.stringify(together)];
      requireRule(one === two, `turns at once must be answered as they are alone: ${two}, not ${one}`);
    },
  },
  ...Object.values(TRANSPORTS).map((transport): Check => ({
    name: `stops when its client leaves (${transport.name})`,
    run: (service) => requireStop(service, transport, {}),
  })),
];

/** Checks of stops while an upstream is silent, for subjects that can simulate one. */
export const HANGING_CHECKS: readonly Check[] = Object.values(TRANSPORTS).map((transport) => ({
  name: `releases a silent upstream when its client leaves (${transport.name})`,
  run: async (service) => requireStop(service, transport, (await service.subject.hanging?.()) ?? {}),
}));

async function requireStop(service: ContractService, transport: Transport, turn: HangingTurn): Promise<void> {
  const client = new AbortController();
  const watched = service.tap.next(keepOpen);
  const { signal } = client;
  const answer = service.ask(QUESTIONS[0], { transport, signal, headers: turn.headers ?? {}, body: turn.body ?? {} });
  const early = answer.then(
    ({ seen }) => Promise.reject(new Error(`the turn was to go on, but it ended: ${seen}`)),
    (error: unknown) => Promise.reject(error as Error),
  );
  await Promise.race([service.within(turn.reached ?? watched.begun, 'the first sign of the provider'), early]);
  client.abort();
  await answer.then(
    () => undefined,
    () => undefined,
  );
  await service.within(watched.ended, 'the end of the provider after its client had left');
  requireRule(watched.signal?.aborted === true, 'the signal of a turn must abort when its client leaves');
  if (turn.released !== undefined) await service.within(turn.released, 'the release of the upstream');
  await service.askWell(QUESTIONS[1]);
}

async function askInTurn(service: ContractService): Promise<readonly unknown[]> {
  return [textsOf(await service.askWell(QUESTIONS[0])), textsOf(await service.askWell(QUESTIONS[1]))];
}

/** Delays the last event, so that the client can disconnect before it. */
const keepOpen: Behaviour = async function* ({ events, signal, over }) {
  for await (const event of events) {
    if (event.type === 'finish') await Promise.race([aborted(signal), over]);
    yield event;
  }
};

function holdUntil(released: Promise<unknown>): Behaviour {
  return async function* ({ events, over }) {
    for await (const event of events) {
      await Promise.race([released, over]);
      yield event;
    }
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
