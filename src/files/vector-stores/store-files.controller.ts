import { Body, Controller, Delete, Get, HttpCode, Param, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { VectorStoreFileBatch } from 'openai/resources/vector-stores/file-batches';
import type { VectorStoreFile } from 'openai/resources/vector-stores/files';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../../access/index.js';
import { Describe } from '../../http/api-description/index.js';
import { apiPath, KnownQuery, UnknownFields } from '../../http/index.js';
import { ApiError, type ListObject, toListObject } from '../../protocol/index.js';
import type { Page, StoreFile } from '../../state/index.js';
import type { Query } from '../../validation/index.js';
import {
  AddBatchBody,
  AddFileBody,
  readStoreFileList,
  StoreFileListParameters,
  toChunking,
  UpdateFileBody,
  validateAddBatch,
  validateAddFile,
  validateUpdateFile,
} from './vector-store-bodies.js';
import {
  type DeletedVectorObject,
  toBatchObject,
  toFileObject,
  toWholePage,
  type WholePage,
} from './vector-store-objects.js';
import { type FileToAdd, VectorStoresService } from './vector-stores.service.js';

/** How long the SDK's `…AndPoll` functions wait before they ask again, ms. */
const POLL_AFTER = { 'openai-poll-after-ms': '500' };

/** The files of vector stores, and their batches. */
@Controller(apiPath('vector_stores/:id'))
@UseGuards(ApiKeyGuard)
export class StoreFilesController {
  constructor(
    private readonly stores: VectorStoresService,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'createVectorStoreFile',
    group: 'Vector stores',
    summary: 'Adds a file to a vector store, which is indexed in the background.',
    body: {
      of: AddFileBody,
      examples: {},
    },
    answer: 'VectorStoreFile',
    errors: ['files_not_configured', 'model_not_allowed', 'vector_store_expired'],
    missing: ['Vector store', 'File'],
  }))
  @Post('files')
  @HttpCode(200)
  async addFile(
    @Param('id') id: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
  ): Promise<VectorStoreFile> {
    const request = validateAddFile(body, this.unknownFields.options());
    return toFileObject(await this.stores.add(caller, id, toAdded(request, '')));
  }

  @Describe(() => ({
    id: 'listVectorStoreFiles',
    group: 'Vector stores',
    summary: 'Lists the files of a vector store.',
    query: StoreFileListParameters,
    answer: 'VectorStoreFileList',
    errors: ['files_not_configured'],
    missing: ['Vector store'],
  }))
  @Get('files')
  async listFiles(
    @Param('id') id: string,
    @KnownQuery() query: Query,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<VectorStoreFile>> {
    return toFiles(await this.stores.listFiles(tenant, id, readStoreFileList(query)));
  }

  @Describe(() => ({
    id: 'getVectorStoreFile',
    group: 'Vector stores',
    summary: 'Returns how far a file of a vector store is.',
    answer: 'VectorStoreFile',
    errors: ['files_not_configured'],
    missing: ['File'],
  }))
  @Get('files/:file')
  async retrieveFile(
    @Param('id') id: string,
    @Param('file') fileId: string,
    @CurrentCaller() { tenant }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<VectorStoreFile> {
    void reply.headers(POLL_AFTER);
    return toFileObject(await this.stores.file(tenant, id, fileId));
  }

  @Describe(() => ({
    id: 'updateVectorStoreFile',
    group: 'Vector stores',
    summary: 'Replaces the attributes of a file in a vector store.',
    body: { of: UpdateFileBody, examples: { 'One attribute': { attributes: { year: 2026 } } } },
    answer: 'VectorStoreFile',
    errors: ['files_not_configured'],
    missing: ['File'],
  }))
  @Post('files/:file')
  @HttpCode(200)
  async updateFile(
    @Param('id') id: string,
    @Param('file') fileId: string,
    @Body() body: unknown,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<VectorStoreFile> {
    const { attributes } = validateUpdateFile(body, this.unknownFields.options());
    const file =
      attributes === undefined
        ? this.stores.file(tenant, id, fileId)
        : this.stores.describe(tenant, id, fileId, attributes ?? {});
    return toFileObject(await file);
  }

  @Describe(() => ({
    id: 'deleteVectorStoreFile',
    group: 'Vector stores',
    summary: 'Takes a file out of a vector store. It stays a file.',
    answer: 'DeletedVectorStoreFile',
    errors: ['files_not_configured'],
    missing: ['File'],
  }))
  @Delete('files/:file')
  async deleteFile(
    @Param('id') id: string,
    @Param('file') fileId: string,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<DeletedVectorObject> {
    await this.stores.detach(tenant, id, fileId);
    return { id: fileId, object: 'vector_store.file.deleted', deleted: true };
  }

  @Describe(() => ({
    id: 'getVectorStoreFileContent',
    group: 'Vector stores',
    summary: 'Returns the chunks of a file in a vector store.',
    answer: 'VectorStoreFileContent',
    errors: ['files_not_configured'],
    missing: ['File'],
  }))
  @Get('files/:file/content')
  async fileContent(
    @Param('id') id: string,
    @Param('file') fileId: string,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<WholePage<{ readonly type: 'text'; readonly text: string }>> {
    const texts = await this.stores.texts(tenant, id, fileId);
    const data = texts.map((text) => ({ type: 'text' as const, text }));
    return toWholePage('vector_store.file_content.page', data);
  }

  @Describe(() => ({
    id: 'createVectorStoreFileBatch',
    group: 'Vector stores',
    summary: 'Adds files to a vector store together.',
    body: { of: AddBatchBody, examples: {} },
    answer: 'VectorStoreFileBatch',
    errors: ['files_not_configured', 'model_not_allowed', 'vector_store_expired'],
    missing: ['Vector store', 'File'],
  }))
  @Post('file_batches')
  @HttpCode(200)
  async addBatch(
    @Param('id') id: string,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
  ): Promise<VectorStoreFileBatch> {
    const request = validateAddBatch(body, this.unknownFields.options());
    return toBatchObject(await this.stores.addBatch(caller, id, filesOf(request)));
  }

  @Describe(() => ({
    id: 'getVectorStoreFileBatch',
    group: 'Vector stores',
    summary: 'Returns how far the files of a batch are.',
    answer: 'VectorStoreFileBatch',
    errors: ['files_not_configured'],
    missing: ['File batch'],
  }))
  @Get('file_batches/:batch')
  async retrieveBatch(
    @Param('id') id: string,
    @Param('batch') batchId: string,
    @CurrentCaller() { tenant }: Caller,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<VectorStoreFileBatch> {
    void reply.headers(POLL_AFTER);
    return toBatchObject(await this.stores.batch(tenant, id, batchId));
  }

  @Describe(() => ({
    id: 'cancelVectorStoreFileBatch',
    group: 'Vector stores',
    summary: 'Cancels the files of a batch that are not indexed yet.',
    answer: 'VectorStoreFileBatch',
    errors: ['files_not_configured'],
    missing: ['File batch'],
  }))
  @Post('file_batches/:batch/cancel')
  @HttpCode(200)
  async cancelBatch(
    @Param('id') id: string,
    @Param('batch') batchId: string,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<VectorStoreFileBatch> {
    return toBatchObject(await this.stores.cancelBatch(tenant, id, batchId));
  }

  @Describe(() => ({
    id: 'listVectorStoreFileBatchFiles',
    group: 'Vector stores',
    summary: 'Lists the files of a batch.',
    query: StoreFileListParameters,
    answer: 'VectorStoreFileList',
    errors: ['files_not_configured'],
    missing: ['File batch'],
  }))
  @Get('file_batches/:batch/files')
  async listBatchFiles(
    @Param('id') id: string,
    @Param('batch') batchId: string,
    @KnownQuery() query: Query,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<ListObject<VectorStoreFile>> {
    await this.stores.batch(tenant, id, batchId);
    return toFiles(await this.stores.listFiles(tenant, id, { ...readStoreFileList(query), batchId }));
  }
}

function toFiles({ data, hasMore }: Page<StoreFile>): ListObject<VectorStoreFile> {
  return toListObject(data.map(toFileObject), hasMore);
}

/** `place` of the file in the request, with a dot behind it. */
function toAdded({ file_id: fileId, attributes, chunking_strategy: strategy }: AddFileBody, place: string): FileToAdd {
  return { fileId, attributes: attributes ?? {}, chunking: toChunking(strategy, `${place}chunking_strategy`) };
}

/** The files of a batch. Throws ApiError 400 unless they are named in one of the two ways. */
function filesOf({
  file_ids: ids,
  files,
  attributes,
  chunking_strategy: strategy,
}: AddBatchBody): readonly FileToAdd[] {
  if (ids != null && files != null) {
    const message = "Give either 'file_ids', with the same attributes for all, or 'files', each with its own.";
    throw ApiError.of('mutually_exclusive_parameters', message, { param: 'files' });
  }
  if (files != null) {
    const [common] =
      Object.entries({ attributes, chunking_strategy: strategy }).find(([, value]) => value != null) ?? [];
    if (common === undefined) return files.map((file, index) => toAdded(file, `files[${index}].`));
    const message = `Give '${common}' in each of 'files', or give 'file_ids' in their place.`;
    throw ApiError.of('mutually_exclusive_parameters', message, { param: common });
  }
  if (ids == null) {
    const message = "Missing required parameter: 'file_ids', or 'files'.";
    throw ApiError.of('missing_required_parameter', message, { param: 'file_ids' });
  }
  const chunking = toChunking(strategy, 'chunking_strategy');
  return [...new Set(ids)].map((fileId) => ({ fileId, attributes: attributes ?? {}, chunking }));
}
