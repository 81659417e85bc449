import { randomUUID } from 'node:crypto';

import { DELTA } from '../traffic.ts';
import { type FloorState, toSnapshot, toUsage } from './floor-snapshot.ts';

/** What the floor reads of a request. */
export interface FloorRequest {
  readonly model: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** One response of the floor as SSE frames, with the members that the service sends. */
export class FloorResponse {
  private readonly start: FloorState;
  private readonly itemId = makeId('msg');
  private sequenceNumber = 0;
  private text = '';

  constructor({ model, metadata }: FloorRequest) {
    const createdAt = Math.floor(Date.now() / 1000);
    this.start = { id: makeId('resp'), createdAt, model, metadata, status: 'in_progress', output: [], usage: null };
  }

  /** The frames before the first delta. */
  open(): string {
    const item = { id: this.itemId, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    return (
      toFrame({ type: 'response.created', sequence_number: this.sequenceNumber++, response: toSnapshot(this.start) }) +
      toFrame({
        type: 'response.in_progress',
        sequence_number: this.sequenceNumber++,
        response: toSnapshot(this.start),
      }) +
      toFrame({
        type: 'response.output_item.added',
        sequence_number: this.sequenceNumber++,
        output_index: 0,
        item,
      }) +
      toFrame({
        type: 'response.content_part.added',
        sequence_number: this.sequenceNumber++,
        item_id: this.itemId,
        output_index: 0,
        content_index: 0,
        part: toPart(''),
      })
    );
  }

  /** The frame of the next delta. */
  delta(delta = DELTA): string {
    this.text += delta;
    return toFrame({
      type: 'response.output_text.delta',
      sequence_number: this.sequenceNumber++,
      item_id: this.itemId,
      output_index: 0,
      content_index: 0,
      logprobs: [],
      delta,
    });
  }

  /** The frames after the last delta. */
  close(outputTokens: number): string {
    const { itemId, text, start } = this;
    const part = toPart(text);
    const item = { id: itemId, type: 'message', status: 'completed', role: 'assistant', content: [part] };
    const usage = toUsage(8, outputTokens);
    return (
      toFrame({
        type: 'response.output_text.done',
        sequence_number: this.sequenceNumber++,
        item_id: itemId,
        output_index: 0,
        content_index: 0,
        text,
        logprobs: [],
      }) +
      toFrame({
        type: 'response.content_part.done',
        sequence_number: this.sequenceNumber++,
        item_id: itemId,
        output_index: 0,
        content_index: 0,
        part,
      }) +
      toFrame({ type: 'response.output_item.done', sequence_number: this.sequenceNumber++, output_index: 0, item }) +
      toFrame({
        type: 'response.completed',
        sequence_number: this.sequenceNumber++,
        response: toSnapshot({ ...start, status: 'completed', output: [item], usage }),
      })
    );
  }
}

function toFrame(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function toPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function makeId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}
