import type { ModelInfo } from '../../providers/index.js';
import { isObject, requireRule } from '../events/rule.js';
import type { Check } from './check.js';

/** The models of a provider. */
export const MODEL_CHECKS: readonly Check[] = [
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
export function requireModel(model: unknown): void {
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
