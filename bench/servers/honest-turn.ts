import type { CreateResponseRequest, Item } from 'antiphon';

import { readTraffic, type Traffic } from '../traffic.ts';
import type { FloorItem } from './floor-items.ts';
import type { Snapshots } from './floor-snapshot.ts';
import { checkConversation, toItems } from './honest-conversation.ts';
import { type HonestResponse, toResponse } from './honest-response.ts';
import type { HonestStore, StoredResponse } from './honest-store.ts';

/** Memory of a saved response besides its texts, bytes. */
const OBJECT_BYTES = 4000;

/** A turn of a validated request, with its context and the Response object shared by all snapshots. */
export class HonestTurn implements Snapshots {
  readonly traffic: Traffic;
  private readonly store: HonestStore;
  private readonly isStored: boolean;
  private readonly requestLength: number;
  private readonly parent: StoredResponse | null;
  private readonly input: readonly Item[];
  private readonly response: HonestResponse;

  /** `requestLength` is the length of the request's text. Throws an Error if the input is invalid after the context. */
  constructor(store: HonestStore, request: CreateResponseRequest, requestLength: number) {
    this.traffic = readTraffic(request.metadata ?? null);
    this.store = store;
    this.isStored = request.store ?? true;
    this.requestLength = requestLength;
    this.parent = request.previous_response_id == null ? null : findParent(store, request.previous_response_id);
    this.input = toItems(request.input);
    checkConversation(this.parent, this.input);
    this.response = toResponse(request);
  }

  started(): object {
    return this.response;
  }

  completed(item: FloorItem, text: string, usage: object): object {
    const { response, input, parent } = this;
    const output = [item];
    response.status = 'completed';
    response.completed_at = Math.floor(Date.now() / 1000);
    if (response.service_tier === 'auto') response.service_tier = 'default';
    response.output = output;
    response.usage = usage;
    if (this.isStored) {
      const bytes = OBJECT_BYTES + 2 * (this.requestLength + text.length);
      this.store.add({ id: response.id, input, output, response, parent, bytes });
    }
    return response;
  }
}

function findParent(store: HonestStore, id: string): StoredResponse {
  const parent = store.find(id);
  if (parent === undefined) throw new Error(`Previous response with id '${id}' not found.`);
  return parent;
}
