import { Readable } from 'node:stream';

import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { Describe } from '../http/api-description/index.js';
import { apiPath, FORM_ROUTE, KnownQuery, readForm, signalOf, UnknownFields } from '../http/index.js';
import { type ListObject, toListObject } from '../protocol/index.js';
import type { Query } from '../validation/index.js';
import { CreateFileFields, FileListParameters, readFileFields, readFileList, toFilename } from './file-bodies.js';
import { type FileObject, toFileObject } from './file-object.js';
import { FilesService } from './files.service.js';

/** The body of `DELETE /files/{id}`. */
export interface DeletedFile {
  readonly id: string;
  readonly object: 'file';
  readonly deleted: true;
}

/** `/files` and their content. */
@Controller(apiPath('files'))
@UseGuards(ApiKeyGuard)
export class FilesController {
  constructor(
    private readonly files: FilesService,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'createFile',
    group: 'Files',
    summary: 'Stores a file.',
    form: { file: 'file', of: CreateFileFields },
    answer: 'File',
    errors: ['file_quota_exceeded', 'files_not_configured'],
  }))
  @Post()
  @HttpCode(200)
  @RouteConfig(FORM_ROUTE)
  async create(@Req() { raw }: FastifyRequest, @CurrentCaller() { tenant }: Caller): Promise<FileObject> {
    const { fields, file } = await readForm(raw, 'file', {
      read: (given) => readFileFields(given, this.unknownFields.options()),
      receive: (content) => this.files.receive(tenant, 'file', content),
      discard: ({ id }) => this.files.discard(tenant, id),
    });
    const { purpose, expires_after: expiry } = fields;
    const { filename, mimeType, received } = file;
    const description = { filename: toFilename(filename), purpose, mimeType, ttl: expiry?.seconds ?? null };
    return toFileObject(await this.files.keep(tenant, received, description));
  }

  @Describe(() => ({
    id: 'listFiles',
    group: 'Files',
    summary: 'Lists files.',
    query: FileListParameters,
    answer: 'FileList',
    errors: ['files_not_configured'],
  }))
  @Get()
  async list(@KnownQuery() query: Query, @CurrentCaller() { tenant }: Caller): Promise<ListObject<FileObject>> {
    const { data, hasMore } = await this.files.list(tenant, readFileList(query));
    return toListObject(data.map(toFileObject), hasMore);
  }

  @Describe(() => ({
    id: 'getFile',
    group: 'Files',
    summary: 'Returns what is known of a file.',
    answer: 'File',
    errors: ['files_not_configured'],
    missing: ['File'],
  }))
  @Get(':id')
  async retrieve(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<FileObject> {
    return toFileObject(await this.files.get(tenant, id));
  }

  @Describe(() => ({
    id: 'deleteFile',
    group: 'Files',
    summary: 'Deletes a file.',
    answer: 'DeletedFile',
    errors: ['files_not_configured'],
    missing: ['File'],
  }))
  @Delete(':id')
  async delete(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<DeletedFile> {
    await this.files.delete(tenant, id);
    return { id, object: 'file', deleted: true };
  }

  @Describe(() => ({
    id: 'getFileContent',
    group: 'Files',
    summary: 'Returns the content of a file.',
    answer: 'bytes',
    errors: ['files_not_configured'],
    missing: ['File'],
  }))
  @Get(':id/content')
  async content(
    @Param('id') id: string,
    @CurrentCaller() { tenant }: Caller,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { bytes, filename } = await this.files.get(tenant, id);
    await reply
      .header('content-type', 'application/octet-stream')
      .header('content-length', bytes)
      // No browser may take a file for a page of the service.
      .header('x-content-type-options', 'nosniff')
      .header('content-disposition', `attachment; filename*=UTF-8''${encodeName(filename)}`)
      .send(Readable.from(this.files.read(tenant, id, signalOf(reply)), { objectMode: false }));
  }
}

/** As RFC 8187 has it. */
function encodeName(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
}
