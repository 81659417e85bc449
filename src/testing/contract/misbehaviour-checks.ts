import { requireRule } from '../events/rule.js';
import type { Answer } from './answer.js';
import type { Check } from './check.js';
import { type ContractService, IDLE_MS } from './contract-service.js';
import { AFTERTHOUGHT, type Misbehaviour, MISBEHAVIOURS, SECRET } from './misbehaviours.js';
import { type Transport, TRANSPORTS } from './transports.js';

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
