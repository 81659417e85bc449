import { Controller, Get, Param, UseGuards } from '@nestjs/common';

import { ApiKeyGuard, type Caller, CurrentCaller, RequireScope } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath } from '../../http/index.js';
import { ApiError } from '../../protocol/index.js';
import type { Prompt, PromptVersion } from '../prompts/prompts-file.js';
import { Prompts } from '../prompts/prompts.js';

/** A prompt as `GET /prompts` shows it. */
export interface PromptObject {
  readonly id: string;
  readonly object: 'prompt';
  readonly default_version: string;
  readonly versions: readonly Omit<PromptVersion, 'textVariables'>[];
}

/** The body of `GET /prompts`: all prompts of the caller's tenant, on one page. */
export interface PromptList {
  readonly object: 'list';
  readonly data: readonly PromptObject[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: false;
}

/** The prompts of PROMPTS_FILE that the caller's tenant may use. Any credential may read them, as models. */
@Controller(apiPath('prompts'))
@RequireScope('any')
@UseGuards(ApiKeyGuard)
export class PromptsController {
  constructor(private readonly prompts: Prompts) {}

  @Describe(() => ({
    id: 'listPrompts',
    group: 'Prompts',
    summary: 'Lists the prompts of the caller.',
    answer: 'PromptList',
  }))
  @Get()
  list(@CurrentCaller() { tenant }: Caller): PromptList {
    const data = this.prompts.list(tenant).map(toObject);
    const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
    return { object: 'list', data, first_id: first, last_id: last, has_more: false };
  }

  @Describe(() => ({
    id: 'getPrompt',
    group: 'Prompts',
    summary: 'Returns a prompt with its versions.',
    answer: 'Prompt',
    missing: ['Prompt'],
  }))
  @Get(':id')
  retrieve(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): PromptObject {
    const prompt = this.prompts.find(id, tenant);
    if (prompt === undefined) throw ApiError.notFound('Prompt', id);
    return toObject(prompt);
  }
}

function toObject({ id, defaultVersion, versions }: Prompt): PromptObject {
  const shown = versions.map(({ textVariables: _, ...version }) => version);
  return { id, object: 'prompt', default_version: defaultVersion, versions: shown };
}
