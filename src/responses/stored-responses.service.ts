import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { ApiError, type Item, type ListObject, type ResponseObject, toListObject } from '../protocol/index.js';
import { type DeleteOptions, type PageRequest, ResponseStore } from '../state/index.js';

/**
 * Operations on stored responses. Responses of other tenants return 404, and so do responses outside of the session
 * `within`.
 */
@Injectable()
export class StoredResponsesService {
  constructor(private readonly store: ResponseStore) {}

  /** Throws ApiError 404. */
  async retrieve(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject> {
    const response = await this.store.get(tenant, responseId, within);
    if (response === undefined) throw ApiError.notFound('Response', responseId);
    return response;
  }

  /** Throws ApiError 404, also for a response that is already deleted. */
  async delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<void> {
    const deleted = await this.store.delete(tenant, responseId, options, within);
    if (deleted === 0) throw ApiError.notFound('Response', responseId);
  }

  /** Only background responses can be cancelled (protocol §1.1). Throws ApiError 404, or 400 for a foreground response. */
  async cancel(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject> {
    await this.retrieve(tenant, responseId, within);
    throw ApiError.badRequest('Cannot cancel a synchronous response.', null);
  }

  /** The input items of one request. Throws ApiError 404, or UnknownCursorError. */
  async inputItems(tenant: Tenant, responseId: string, page: PageRequest, within?: string): Promise<ListObject<Item>> {
    const found = await this.store.inputItems(tenant, responseId, page, within);
    if (found === undefined) throw ApiError.notFound('Response', responseId);
    return toListObject(found.data, found.hasMore);
  }
}
