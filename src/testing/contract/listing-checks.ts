import type { ModelProviderBase } from '../../providers/index.js';
import { isObject, requireRule } from '../events/rule.js';
import type { Check } from './check.js';
import { type ContractService, IDLE_MS } from './contract-service.js';
import { SECRET } from './misbehaviours.js';
import { requireModel } from './model-checks.js';

type List = ModelProviderBase['models'];

/** Faulty implementations of `models()`. */
const MISBEHAVIOURS: Readonly<Record<string, List>> = {
  throws: () => {
    throw new Error(SECRET);
  },
  rejects: () => Promise.reject(new Error(SECRET)),
  'never resolves': () => new Promise(() => undefined),
  'gives nothing': async () => null as never,
  'gives a list with an undefined entry': async () => [undefined] as never,
  'gives a model without a name': async () => [{ ownedBy: 'nobody', created: 1 }] as never,
  'gives a model without a valid created': async () => [{ id: 'timeless', ownedBy: 'nobody' }] as never,
};

/** A provider whose `models()` fails must not hide the models of others, and still serves its own. */
export const LISTING_CHECKS: readonly Check[] = Object.entries(MISBEHAVIOURS).map(([what, list]) => ({
  name: `keeps the list of models when models() ${what}`,
  run: async (service) => {
    const asked = Promise.withResolvers<undefined>();
    service.provider.models = () => {
      asked.resolve(undefined);
      return list();
    };
    const models = getModels(service);
    await service.within(Promise.race([asked.promise, models]), 'the question for models');
    service.clock.advance(IDLE_MS);
    for (const model of await models) requireModel(model);
    await service.askWell('Say hello.');
    service.requireUnseen([SECRET]);
  },
}));

async function getModels(service: ContractService): Promise<readonly unknown[]> {
  const list = await service.get('/models');
  requireRule(isObject(list) && Array.isArray(list['data']), 'GET /models must give a list');
  return list['data'] as readonly unknown[];
}
