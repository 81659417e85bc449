import { Controller, Get, Headers, Param, Query, Res, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { ModelInfo as AnthropicModel } from '@anthropic-ai/sdk/resources/models';
import type { FastifyReply } from 'fastify';
import type { Model } from 'openai/resources/models';

import { ApiKeyGuard, type Caller, CurrentCaller, RequireScope } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { Environment } from '../../config/index.js';
import { anthropicForm, type AnthropicModelList, toAnthropicModel, toAnthropicModels } from '../../doors/index.js';
import { apiPath, type ErrorForm, openAiForm, UnknownFields } from '../../http/index.js';
import { mayUseModel, type ModelInfo, modelNotFound, ProviderRegistry } from '../../providers/index.js';

/** The body of `GET /models` (protocol §1.3). */
export interface ModelList {
  readonly object: 'list';
  readonly data: readonly Model[];
  /** Codex reads its own kind of models here and accepts an empty list. */
  readonly models: readonly never[];
}

/** The header that tells clients of Anthropic. */
const ANTHROPIC = 'anthropic-version';

const OTHER_FORM = 'With the header `anthropic-version`, the answer has the form of Anthropic.';

/** An error in the form that its client reads. */
const errorForm: ErrorForm = (error, request) =>
  (request.headers[ANTHROPIC] === undefined ? openAiForm : anthropicForm)(error, request);

/** The models of all providers that the caller may use. Any credential may list them: clients do so before they create anything. */
@Controller(apiPath('models'))
@RequireScope('any')
@UseGuards(ApiKeyGuard)
export class ModelsController {
  constructor(
    private readonly providers: ProviderRegistry,
    private readonly environment: Environment,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'listModels',
    group: 'Models',
    summary: 'Lists the models of all providers.',
    description: OTHER_FORM,
    answer: 'ModelList',
  }))
  @Get()
  @RouteConfig({ errorForm })
  async list(
    @CurrentCaller() caller: Caller,
    @Headers(ANTHROPIC) version: string | undefined,
    @Query() query: Readonly<Record<string, unknown>>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ModelList | AnthropicModelList> {
    const models = (await this.providers.list()).filter(({ id }) => mayUseModel(caller, id));
    if (this.isForAnthropic(version)) {
      void reply.header('request-id', caller.requestId);
      return toAnthropicModels(models, query, this.unknownFields.options());
    }
    return { object: 'list', data: models.map(toModel), models: [] };
  }

  /** Model names may contain slashes, such as `org/model`. */
  @Describe(() => ({
    id: 'getModel',
    group: 'Models',
    summary: 'Returns a model.',
    description: OTHER_FORM,
    answer: 'Model',
    errors: ['model_not_found', 'model_unavailable'],
  }))
  @Get('*')
  @RouteConfig({ errorForm })
  retrieve(
    @Param('*') id: string,
    @CurrentCaller() caller: Caller,
    @Headers(ANTHROPIC) version: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Model | AnthropicModel {
    if (!mayUseModel(caller, id)) throw modelNotFound(id);
    const { model } = this.providers.route(id, caller);
    if (!this.isForAnthropic(version)) return toModel(model);
    void reply.header('request-id', caller.requestId);
    return toAnthropicModel(model);
  }

  /** Whether a client expects the form of Anthropic, to which DOORS has to be open. */
  private isForAnthropic(version: string | undefined): boolean {
    return version !== undefined && this.environment.DOORS.includes('messages');
  }
}

function toModel({ id, created, ownedBy }: ModelInfo): Model {
  return { id, object: 'model', created, owned_by: ownedBy };
}
