import { DELTA } from '../traffic.ts';
import { makeId, toMessage, toOutputText } from './floor-items.ts';
import { type Snapshots, toUsage } from './floor-snapshot.ts';

/** An event of a stream. */
export interface FloorEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly [member: string]: unknown;
}

/** One response of a floor as events, with the members that the service sends. */
export class FloorResponse {
  private readonly snapshots: Snapshots;
  private readonly itemId = makeId('msg');
  private sequenceNumber = 0;
  private text = '';

  constructor(snapshots: Snapshots) {
    this.snapshots = snapshots;
  }

  /** The events before the first delta. */
  open(): FloorEvent[] {
    const item = { id: this.itemId, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    return [
      { type: 'response.created', sequence_number: this.sequenceNumber++, response: this.snapshots.started() },
      { type: 'response.in_progress', sequence_number: this.sequenceNumber++, response: this.snapshots.started() },
      { type: 'response.output_item.added', sequence_number: this.sequenceNumber++, output_index: 0, item },
      {
        type: 'response.content_part.added',
        sequence_number: this.sequenceNumber++,
        item_id: this.itemId,
        output_index: 0,
        content_index: 0,
        part: toOutputText(''),
      },
    ];
  }

  /** The event of the next delta. */
  delta(delta = DELTA): FloorEvent {
    this.text += delta;
    return {
      type: 'response.output_text.delta',
      sequence_number: this.sequenceNumber++,
      item_id: this.itemId,
      output_index: 0,
      content_index: 0,
      logprobs: [],
      delta,
    };
  }

  /** The events after the last delta. */
  close(outputTokens: number): FloorEvent[] {
    const { itemId, text } = this;
    const part = toOutputText(text);
    const item = toMessage(itemId, 'assistant', part);
    const usage = toUsage(8, outputTokens);
    return [
      {
        type: 'response.output_text.done',
        sequence_number: this.sequenceNumber++,
        item_id: itemId,
        output_index: 0,
        content_index: 0,
        text,
        logprobs: [],
      },
      {
        type: 'response.content_part.done',
        sequence_number: this.sequenceNumber++,
        item_id: itemId,
        output_index: 0,
        content_index: 0,
        part,
      },
      { type: 'response.output_item.done', sequence_number: this.sequenceNumber++, output_index: 0, item },
      {
        type: 'response.completed',
        sequence_number: this.sequenceNumber++,
        response: this.snapshots.completed(item, text, usage),
      },
    ];
  }
}
