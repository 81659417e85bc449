import { Body, Controller, Delete, Get, HttpCode, Param, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { VectorStore, VectorStoreSearchResponse } from 'openai/resources/vector-stores/vector-stores';

import { ApiKeyGuard, type Caller, CurrentCaller, RequireScope, requireScope } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, KnownQuery, PageParameters, readPageQuery, signalOf, UnknownFields } from '../../http/index.js';
import { type ListObject, toListObject } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import type { Query } from '../../validation/index.js';
import { SearchBody, toSearchOptions, validateSearch } from './search-bodies.js';
import { VectorSearch } from './vector-search.js';
import {
  CreateStoreBody,
  toChunking,
  UpdateStoreBody,
  validateCreateStore,
  validateUpdateStore,
} from './vector-store-bodies.js';
import { type DeletedVectorObject, toStoreObject, toWholePage, type WholePage } from './vector-store-objects.js';
import { type CountedStore, VectorStoresService } from './vector-stores.service.js';

/** What a search has found. */
export type SearchPage = WholePage<VectorStoreSearchResponse> & { readonly search_query: readonly string[] };

/** `/vector_stores`, their files, and searches. */
@Controller(apiPath('vector_stores'))
@UseGuards(ApiKeyGuard)
export class VectorStoresController {
  constructor(
    private readonly stores: VectorStoresService,
    private readonly searches: VectorSearch,
    private readonly unknownFields: UnknownFields,
    private readonly clock: Clock,
  ) {}

  @Describe(() => ({
    id: 'createVectorStore',
    group: 'Vector stores',
    summary: 'Creates a vector store, with files or without.',
    body: {
      of: CreateStoreBody,
      isOptional: true,
      examples: {
        'Without files': { name: 'Handbooks', expires_after: { anchor: 'last_active_at', days: 30 } },
      },
    },
    answer: 'VectorStore',
    errors: [
      'files_not_configured',
      'model_not_allowed',
      'vector_store_quota_exceeded',
      'vector_stores_not_configured',
    ],
    missing: ['File'],
  }))
  @Post()
  @HttpCode(200)
  async create(@Body() body: unknown, @CurrentCaller() caller: Caller): Promise<VectorStore> {
    const request = validateCreateStore(body, this.unknownFields.options());
    const { name, description, metadata, expires_after: expiry, file_ids: ids } = request;
    const chunking = toChunking(request.chunking_strategy, 'chunking_strategy');
    const store = {
      ...{ name: name ?? null, description: description ?? null, metadata: metadata ?? {} },
      expiresAfterDays: expiry?.days ?? null,
    };
    const files = (ids ?? []).map((fileId) => ({ fileId, attributes: {}, chunking }));
    return this.toObject(await this.stores.create(caller, store, files));
  }

  @Describe(() => ({
    id: 'listVectorStores',
    group: 'Vector stores',
    summary: 'Lists vector stores.',
    query: PageParameters,
    answer: 'VectorStoreList',
    errors: ['files_not_configured'],
  }))
  @Get()
  async list(@KnownQuery() query: Query, @CurrentCaller() { tenant }: Caller): Promise<ListObject<VectorStore>> {
    const { data, hasMore } = await this.stores.list(tenant, readPageQuery(query));
    return toListObject(
      data.map((store) => this.toObject(store)),
      hasMore,
    );
  }

  @Describe(() => ({
    id: 'getVectorStore',
    group: 'Vector stores',
    summary: 'Returns a vector store.',
    answer: 'VectorStore',
    errors: ['files_not_configured'],
    missing: ['Vector store'],
  }))
  @Get(':id')
  async retrieve(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<VectorStore> {
    return this.toObject(await this.stores.get(tenant, id));
  }

  @Describe(() => ({
    id: 'updateVectorStore',
    group: 'Vector stores',
    summary: 'Changes a vector store.',
    body: { of: UpdateStoreBody, examples: { 'Another name': { name: 'Manuals' } } },
    answer: 'VectorStore',
    errors: ['files_not_configured', 'vector_store_expired'],
    missing: ['Vector store'],
  }))
  @Post(':id')
  @HttpCode(200)
  async update(
    @Param('id') id: string,
    @Body() body: unknown,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<VectorStore> {
    const { name, metadata, expires_after: expiry } = validateUpdateStore(body, this.unknownFields.options());
    const change = {
      ...(name === undefined ? {} : { name }),
      ...(metadata === undefined ? {} : { metadata: metadata ?? {} }),
      ...(expiry === undefined ? {} : { expiresAfterDays: expiry?.days ?? null }),
    };
    return this.toObject(await this.stores.update(tenant, id, change));
  }

  @Describe(() => ({
    id: 'deleteVectorStore',
    group: 'Vector stores',
    summary: 'Deletes a vector store. Its files stay files.',
    answer: 'DeletedVectorStore',
    errors: ['files_not_configured'],
    missing: ['Vector store'],
  }))
  @Delete(':id')
  async delete(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<DeletedVectorObject> {
    await this.stores.delete(tenant, id);
    return { id, object: 'vector_store.deleted', deleted: true };
  }

  @Describe(() => ({
    id: 'searchVectorStore',
    group: 'Vector stores',
    summary: 'Searches a vector store.',
    body: {
      of: SearchBody,
      examples: {
        'With a filter': {
          query: 'How many days of leave are there?',
          filters: { type: 'eq', key: 'year', value: 2026 },
          max_num_results: 5,
        },
      },
    },
    answer: 'VectorStoreSearch',
    errors: ['files_not_configured', 'model_not_allowed', 'vector_store_expired', 'vector_stores_not_configured'],
    missing: ['Vector store'],
  }))
  @Post(':id/search')
  @RequireScope('responses:read')
  @HttpCode(200)
  async search(
    @Param('id') id: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SearchPage> {
    const request = validateSearch(body, this.unknownFields.options());
    const { query, rewrite_query: isRewritten } = request;
    const signal = signalOf(reply);
    const given = typeof query === 'string' ? [query] : query;
    // A model writes the query anew, which is a turn.
    if (isRewritten === true) requireScope(caller, 'responses:write');
    const queries = isRewritten === true ? await this.searches.rewrite(given, caller, signal) : given;
    const found = await this.searches.search(
      { ...toSearchOptions(request), storeIds: [id], queries },
      { caller, signal },
    );
    const data = found.map(({ fileId, filename, score, attributes, text }) => ({
      ...{ file_id: fileId, filename, score, attributes },
      content: [{ type: 'text' as const, text }],
    }));
    return { ...toWholePage('vector_store.search_results.page', data), search_query: queries };
  }

  private toObject(counted: CountedStore): VectorStore {
    return toStoreObject(counted, this.clock.now());
  }
}
