import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { ApiError, type Item, type ListObject, type ResponseObject, toListObject } from '../protocol/index.js';
import {
  BackgroundRuns,
  DamagedRecordError,
  type DeleteOptions,
  type PageRequest,
  ResponseStore,
} from '../state/index.js';
import { BackgroundWorker } from './background/background-worker.js';

/**
 * Operations on stored responses. Responses of other tenants return 404, and so do responses outside of the session
 * `within`.
 */
@Injectable()
export class StoredResponsesService {
  constructor(
    private readonly store: ResponseStore,
    private readonly runs: BackgroundRuns,
    private readonly worker: BackgroundWorker,
  ) {}

  /** Throws ApiError 404. */
  async retrieve(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject> {
    const response = await this.store.get(tenant, responseId, within);
    if (response === undefined) throw ApiError.notFound('Response', responseId);
    return response;
  }

  /** Replaces the metadata of a response with an answer. Throws ApiError 404. */
  async updateMetadata(
    tenant: Tenant,
    responseId: string,
    metadata: ResponseObject['metadata'],
    within?: string,
  ): Promise<ResponseObject> {
    const response = await this.store.updateMetadata(tenant, responseId, metadata, within);
    if (response === undefined) throw ApiError.notFound('Response', responseId);
    return response;
  }

  /**
   * Cancels responses that have not ended first, with `cascade` also those that continue it. Throws ApiError 404, also for
   * a response that is already deleted.
   */
  async delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<void> {
    for (const id of await this.runs.unfinished(tenant, responseId, options, within)) {
      await this.worker.cancel(tenant, id);
    }
    const deleted = await this.store.delete(tenant, responseId, options, within);
    if (deleted === 0) throw ApiError.notFound('Response', responseId);
  }

  /**
   * Only background responses can be cancelled; one that has ended is returned unchanged (protocol §1.1). Throws ApiError
   * 404, or 400 for a foreground response, and DamagedRecordError for one that cannot be read and is not to be cancelled.
   */
  async cancel(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject> {
    const isBackground = await this.isInBackground(tenant, responseId, within);
    if (isBackground) {
      const cancelled = await this.worker.cancel(tenant, responseId, within);
      // The response was deleted meanwhile, or is a damaged one of the foreground: reading it says which.
      return cancelled ?? (await this.retrieve(tenant, responseId, within));
    }
    throw ApiError.badRequest('Cannot cancel a synchronous response.', null);
  }

  /** Whether a response is one of the background. One that is damaged may be, and can be cancelled then. */
  private async isInBackground(tenant: Tenant, responseId: string, within: string | undefined): Promise<boolean> {
    try {
      return (await this.retrieve(tenant, responseId, within)).background === true;
    } catch (error) {
      if (error instanceof DamagedRecordError) return true;
      throw error;
    }
  }

  /** The input items of one request. Throws ApiError 404, or UnknownCursorError. */
  async inputItems(tenant: Tenant, responseId: string, page: PageRequest, within?: string): Promise<ListObject<Item>> {
    const found = await this.store.inputItems(tenant, responseId, page, within);
    if (found === undefined) throw ApiError.notFound('Response', responseId);
    return toListObject(found.data, found.hasMore);
  }
}
