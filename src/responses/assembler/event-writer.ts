import type { ResponseObject, StreamEvent } from '../../protocol/index.js';

/** The `deltaLength` of events that carry no delta. */
const NO_DELTA = -1;

/**
 * Numbers and serialises the events of one response and collects them until the road takes a batch. A silent writer keeps
 * back everything but the terminal event: that is the JSON transport, which only wants the Response.
 */
export class EventWriter {
  private batch: StreamEvent[] = [];

  constructor(
    /** The number of the next event. */
    private sequenceNumber: number,
    private readonly silent: boolean,
  ) {}

  /** Appends an event. `members` is JSON text that follows the type and number: `,"item_id":"msg_1"`. */
  write(type: string, members: string, deltaLength = NO_DELTA): void {
    if (!this.silent) this.append(type, members, deltaLength, null);
  }

  /** Appends a delta. `prefix` is everything up to the delta's value and is made once per part, not per delta. */
  writeDelta(type: string, prefix: string, delta: string): void {
    if (!this.silent) this.append(type, prefix + JSON.stringify(delta), delta.length, null);
  }

  /** Appends an event that shows the Response on its way; the text is made only if somebody reads it. */
  writeSnapshot(type: string, toJson: () => string): void {
    if (!this.silent) this.append(type, `,"response":${toJson()}`, NO_DELTA, null);
  }

  /** Appends the one event that ends the stream and hands the Response to transports that want the object. */
  writeTerminal(type: string, response: ResponseObject, toJson: () => string): void {
    this.append(type, this.silent ? '' : `,"response":${toJson()}`, NO_DELTA, response);
  }

  /** Everything written since the last call. */
  take(): readonly StreamEvent[] {
    const batch = this.batch;
    if (batch.length > 0) this.batch = [];
    return batch;
  }

  private append(type: string, members: string, deltaLength: number, response: ResponseObject | null): void {
    const sequenceNumber = this.sequenceNumber++;
    const json = `{"type":"${type}","sequence_number":${sequenceNumber}${members}`;
    this.batch.push({ type, sequenceNumber, json, deltaLength, response });
  }
}
