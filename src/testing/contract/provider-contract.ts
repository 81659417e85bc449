import type { ModelInfo, ModelProviderBase } from '../../providers/index.js';
import { isObject, requireRule } from '../events/rule.js';
import { ANSWER_CHECKS } from './answer-checks.js';
import type { Answer } from './answer.js';
import type { Check } from './check.js';
import { ContractService, IDLE_MS } from './contract-service.js';
import { MISBEHAVIOUR_CHECKS, SECRET } from './misbehaviours.js';
import type { ProviderSubject } from './provider-subject.js';
import { HANGING_CHECKS, STOP_CHECKS } from './stop-checks.js';
import { TRANSCRIPT_CHECKS } from './transcript-checks.js';
import { TRANSPORTS } from './transports.js';

/** The models of a provider. */
const MODEL_CHECKS: readonly Check[] = [
  {
    name: 'lists its models, well formed and once each',
    run: async (service) => {
      const models = await service.within(service.provider.models(), 'models()');
      for (const model of models) requireModelInfo(model);
      const ids = models.map(({ id }) => id);
      requireRule(new Set(ids).size === ids.length, `models() must name each model once: ${ids.join(', ')}`);
      const list = await service.get('/models');
      requireRule(isObject(list) && Array.isArray(list['data']), 'GET /models must give a list');
      for (const model of list['data']) requireModel(model);
    },
  },
  {
    name: 'serves the model that is asked',
    run: async (service) => requireModel(await service.get(`/models/${service.subject.model}`)),
  },
];

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
const LISTING_CHECKS: readonly Check[] = Object.entries(MISBEHAVIOURS).map(([what, list]) => ({
  name: `keeps the list of models when models() ${what}`,
  run: async (service) => {
    const asked = Promise.withResolvers<undefined>();
    const { provider } = service;
    const kept = provider.models.bind(provider);
    provider.models = () => {
      asked.resolve(undefined);
      return list();
    };
    const models = getModels(service);
    await service.within(Promise.race([asked.promise, models]), 'the question for models');
    service.clock.advance(IDLE_MS);
    for (const model of await models) requireModel(model);
    await service.askWell('Say hello.');
    service.requireUnseen([SECRET]);
    provider.models = kept;
  },
}));

/** A failing upstream, for subjects that can simulate one. */
const FAILURE_CHECKS: readonly Check[] = Object.values(TRANSPORTS).map((transport) => ({
  name: `tells when its upstream fails (${transport.name})`,
  run: async (service) => {
    const { headers = {}, body = {} } = service.subject.failing ?? {};
    requireFailure(await service.ask('Say hello.', { transport, headers, body }));
    await service.askWell('Say hello.', { transport });
  },
}));

/** One requirement of a provider. */
export interface ContractCase {
  readonly name: string;
  /** Rejects with an Error that names the violation. Independent of test frameworks and of the other cases. */
  readonly run: () => Promise<void>;
}

/**
 * The requirements of every provider, tested against the service with the provider in it:
 *
 *     for (const { name, run } of providerContract(subject)) it(name, run);
 *
 * The first half tests the provider itself. The second replaces its events with faulty ones (throws, hangs, invalid
 * events, early end): the streams must still follow the protocol, and the next turn must be answered.
 */
export function providerContract(subject: ProviderSubject): readonly ContractCase[] {
  return checksOf(subject).map(({ name, run }) => ({
    name,
    run: async () => {
      const service = await ContractService.start(subject);
      try {
        await run(service);
        await service.settle();
      } finally {
        await service.close();
      }
    },
  }));
}

function checksOf(subject: ProviderSubject): readonly Check[] {
  return [
    ...MODEL_CHECKS,
    ...ANSWER_CHECKS,
    ...TRANSCRIPT_CHECKS,
    ...STOP_CHECKS,
    ...(subject.hanging === undefined ? [] : HANGING_CHECKS),
    ...(subject.failing === undefined ? [] : FAILURE_CHECKS),
    ...LISTING_CHECKS,
    ...MISBEHAVIOUR_CHECKS,
  ];
}

/** The cases with one service for all of them, one after another, which is quicker: `close` it after the last. A case that fails ends it. */
export function sharedProviderContract(subject: ProviderSubject): {
  readonly cases: readonly ContractCase[];
  readonly close: () => Promise<void>;
} {
  let service: ContractService | undefined;
  const close = async (): Promise<void> => {
    const last = service;
    service = undefined;
    await last?.close();
  };
  const cases = checksOf(subject).map(({ name, run }) => ({
    name,
    run: async () => {
      service ??= await ContractService.start(subject);
      try {
        await run(service);
        await service.settle();
      } catch (error) {
        await close();
        throw error;
      }
    },
  }));
  return { cases, close };
}

/** A refusal, or a response that failed. */
function requireFailure({ response, refusal, seen }: Answer): void {
  requireRule(refusal !== null || response?.status === 'failed', `a failing turn must report an error, not: ${seen}`);
}

type List = ModelProviderBase['models'];

async function getModels(service: ContractService): Promise<readonly unknown[]> {
  const list = await service.get('/models');
  requireRule(isObject(list) && Array.isArray(list['data']), 'GET /models must give a list');
  return list['data'] as readonly unknown[];
}

function requireModelInfo(model: ModelInfo): void {
  const { id, created, ownedBy, contextWindow, maxOutputTokens, reasoningEfforts } = model;
  requireRule(isText(id), `a model must have an id: ${JSON.stringify(model)}`);
  requireRule(isText(ownedBy), `ownedBy of ${id} must be a text`);
  requireRule(isCount(created), `created of ${id} must be whole seconds since 1970, not ${created}`);
  for (const [member, tokens] of Object.entries({ contextWindow, maxOutputTokens })) {
    requireRule(tokens === undefined || (isCount(tokens) && tokens > 0), `${member} of ${id} must be tokens`);
  }
  const efforts: unknown = reasoningEfforts ?? [];
  requireRule(Array.isArray(efforts) && efforts.every(isText), `reasoningEfforts of ${id} must be texts`);
}

/** Throws an Error unless a value is a model as clients receive it. */
function requireModel(model: unknown): void {
  requireRule(isObject(model), 'a model must be an object');
  const { id, object, created, owned_by: ownedBy } = model;
  const isWhole = isText(id) && object === 'model' && isCount(created) && isText(ownedBy);
  requireRule(isWhole, `a model must have id, object, created and owned_by: ${JSON.stringify(model)}`);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
