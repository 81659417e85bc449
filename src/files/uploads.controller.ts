import { Body, Controller, HttpCode, Param, Post, Req, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { Describe } from '../http/api-description/index.js';
import { apiPath, FORM_ROUTE, readForm, UnknownFields } from '../http/index.js';
import type { UploadRecord } from '../state/index.js';
import { type FileObject, toFileObject } from './file-object.js';
import {
  checkPartFields,
  CompleteUploadBody,
  CreateUploadBody,
  validateCompleteUpload,
  validateCreateUpload,
} from './upload-bodies.js';
import { UploadsService } from './uploads.service.js';

/** An upload as clients see it. */
export interface UploadObject {
  readonly id: string;
  readonly object: 'upload';
  readonly bytes: number;
  /** Unix seconds. */
  readonly created_at: number;
  /** Unix seconds. */
  readonly expires_at: number;
  readonly filename: string;
  readonly purpose: string;
  readonly status: UploadRecord['status'];
  readonly file: FileObject | null;
}

/** A part of an upload as clients see it. */
export interface UploadPartObject {
  readonly id: string;
  readonly object: 'upload.part';
  /** Unix seconds. */
  readonly created_at: number;
  readonly upload_id: string;
}

/** `/uploads`: files that are uploaded in parts. */
@Controller(apiPath('uploads'))
@UseGuards(ApiKeyGuard)
export class UploadsController {
  constructor(
    private readonly uploads: UploadsService,
    private readonly unknownFields: UnknownFields,
  ) {}

  @Describe(() => ({
    id: 'createUpload',
    group: 'Files',
    summary: 'Begins the upload of a file in parts.',
    body: {
      of: CreateUploadBody,
      examples: {
        'A PDF': { bytes: 2_000_000, filename: 'report.pdf', mime_type: 'application/pdf', purpose: 'user_data' },
      },
    },
    answer: 'Upload',
    errors: ['file_quota_exceeded', 'files_not_configured'],
  }))
  @Post()
  @HttpCode(200)
  async create(@Body() body: unknown, @CurrentCaller() { tenant }: Caller): Promise<UploadObject> {
    return toObject(await this.uploads.create(tenant, validateCreateUpload(body, this.unknownFields.options())));
  }

  @Describe(() => ({
    id: 'createUploadPart',
    group: 'Files',
    summary: 'Adds a part to an upload.',
    form: { file: 'data' },
    answer: 'UploadPart',
    errors: ['file_quota_exceeded', 'files_not_configured'],
    missing: ['Upload'],
  }))
  @Post(':id/parts')
  @HttpCode(200)
  @RouteConfig(FORM_ROUTE)
  async addPart(
    @Param('id') id: string,
    @Req() { raw }: FastifyRequest,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<UploadPartObject> {
    const { file } = await readForm(raw, 'data', {
      read: (fields) => checkPartFields(fields, this.unknownFields.options()),
      receive: (content) => this.uploads.receivePart(tenant, id, content),
      discard: (partId) => this.uploads.discardPart(tenant, partId),
    });
    const part = await this.uploads.addPart(tenant, id, file.received);
    return { id: part.id, object: 'upload.part', created_at: part.createdAt, upload_id: id };
  }

  @Describe(() => ({
    id: 'completeUpload',
    group: 'Files',
    summary: 'Joins the parts of an upload to a file.',
    body: { of: CompleteUploadBody, examples: {} },
    answer: 'Upload',
    errors: ['file_quota_exceeded', 'files_not_configured'],
    missing: ['Upload'],
  }))
  @Post(':id/complete')
  @HttpCode(200)
  async complete(
    @Param('id') id: string,
    @Body() body: unknown,
    @CurrentCaller() { tenant }: Caller,
  ): Promise<UploadObject> {
    const request = validateCompleteUpload(body, this.unknownFields.options());
    return toObject(await this.uploads.complete(tenant, id, request));
  }

  @Describe(() => ({
    id: 'cancelUpload',
    group: 'Files',
    summary: 'Cancels an upload.',
    answer: 'Upload',
    errors: ['files_not_configured'],
    missing: ['Upload'],
  }))
  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(@Param('id') id: string, @CurrentCaller() { tenant }: Caller): Promise<UploadObject> {
    return toObject(await this.uploads.cancel(tenant, id));
  }
}

function toObject({ id, bytes, createdAt, expiresAt, filename, purpose, status, file }: UploadRecord): UploadObject {
  return {
    ...{ id, object: 'upload', bytes, created_at: createdAt, expires_at: Math.floor(expiresAt / 1000) },
    ...{ filename, purpose, status, file: file && toFileObject(file) },
  };
}
