import { readTraffic, type Traffic } from '../traffic.ts';
import { type FloorEvent, type FloorRequest, FloorResponse } from './floor-response.ts';

/** A streamed answer of the floor, by turns of the event loop. */
export class FloorAnswer {
  private readonly traffic: Traffic;
  private readonly response: FloorResponse;
  private sent = 0;
  private isClosed = false;

  constructor(request: FloorRequest) {
    this.traffic = readTraffic(request.metadata);
    this.response = new FloorResponse(request);
  }

  /** Whether `next` has given everything. */
  get isOver(): boolean {
    return this.isClosed;
  }

  /** The events of the next turn: the first one opens the answer, the last one does nothing but close it. */
  next(): readonly FloorEvent[] {
    const { deltas, burst } = this.traffic;
    if (this.sent === deltas) {
      this.isClosed = true;
      return this.response.close(deltas);
    }
    const events = this.sent === 0 ? this.response.open() : [];
    for (const end = Math.min(this.sent + burst, deltas); this.sent < end; this.sent++) {
      events.push(this.response.delta());
    }
    return events;
  }
}
