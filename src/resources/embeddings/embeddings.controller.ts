import { Body, Controller, HttpCode, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { CreateEmbeddingResponse } from 'openai/resources/embeddings';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, signalOf, UnknownFields } from '../../http/index.js';
import { CreateEmbeddingsBody, inputsOf, validateEmbeddings } from './embeddings-body.js';
import { EmbeddingsService } from './embeddings.service.js';

/** The body of an answer; an embedding is Base64 of little-endian floats where the request asks for it. */
export type EmbeddingsAnswer = Omit<CreateEmbeddingResponse, 'data'> & {
  readonly data: readonly {
    readonly object: 'embedding';
    readonly index: number;
    readonly embedding: number[] | string;
  }[];
};

/** `POST /embeddings`. */
@Controller(apiPath('embeddings'))
@UseGuards(ApiKeyGuard)
export class EmbeddingsController {
  constructor(
    private readonly embeddings: EmbeddingsService,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'createEmbeddings',
    group: 'Embeddings',
    summary: 'Gives the vectors of texts.',
    body: {
      of: CreateEmbeddingsBody,
      examples: {
        'Two texts': { model: 'text-embedding-3-small', input: ['How are you?', 'Fine.'], encoding_format: 'float' },
        Tokens: { model: 'text-embedding-3-small', input: [13225, 2375], dimensions: 256 },
      },
    },
    answer: 'EmbeddingList',
    errors: ['empty_array', 'model_not_allowed', 'model_not_found', 'model_unavailable', 'unsupported_value'],
  }))
  @Post()
  @HttpCode(200)
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EmbeddingsAnswer> {
    const request = validateEmbeddings(body, this.unknownFields.options());
    const { model, dimensions, user, encoding_format: format } = request;
    const question = {
      ...{ model, inputs: inputsOf(request) },
      ...(dimensions == null ? {} : { dimensions }),
      ...(user == null ? {} : { user }),
    };
    const { vectors, tokens, headers } = await this.embeddings.embed(question, caller, signalOf(reply));
    void reply.headers(headers);
    return {
      object: 'list',
      data: vectors.map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: format === 'base64' ? toBase64(vector) : [...vector],
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    };
  }
}

function toBase64(vector: Float32Array): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}
