import { Controller, Get, Param, UseGuards } from '@nestjs/common';
import type { Model } from 'openai/resources/models';

import { ApiKeyGuard, type Caller, CurrentCaller, RequireScope } from '../access/index.js';
import { Describe } from '../api-description/index.js';
import { apiPaths } from '../http/index.js';
import { mayUseModel, type ModelInfo, modelNotFound, ProviderRegistry } from '../providers/index.js';

/** The body of `GET /models` (protocol §1.3). */
export interface ModelList {
  readonly object: 'list';
  readonly data: readonly Model[];
  /** Codex reads its own kind of models here and accepts an empty list. */
  readonly models: readonly never[];
}

/** The models of all providers that the caller may use. Any credential may list them: clients do so before they create anything. */
@Controller(apiPaths('models'))
@RequireScope('any')
@UseGuards(ApiKeyGuard)
export class ModelsController {
  constructor(private readonly providers: ProviderRegistry) {}

  @Describe(() => ({
    id: 'listModels',
    group: 'Models',
    summary: 'Lists the models of all providers.',
    answer: 'ModelList',
  }))
  @Get()
  async list(@CurrentCaller() caller: Caller): Promise<ModelList> {
    const models = (await this.providers.list()).filter(({ id }) => mayUseModel(caller, id));
    return { object: 'list', data: models.map(toModel), models: [] };
  }

  /** Model names may contain slashes, such as `org/model`. */
  @Describe(() => ({
    id: 'getModel',
    group: 'Models',
    summary: 'Returns a model.',
    answer: 'Model',
    errors: ['model_not_found', 'model_unavailable'],
  }))
  @Get('*')
  retrieve(@Param('*') id: string, @CurrentCaller() caller: Caller): Model {
    if (!mayUseModel(caller, id)) throw modelNotFound(id);
    return toModel(this.providers.route(id, caller).model);
  }
}

function toModel({ id, created, ownedBy }: ModelInfo): Model {
  return { id, object: 'model', created, owned_by: ownedBy };
}
