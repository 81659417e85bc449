import { readTraffic, type Traffic } from '../traffic.ts';
import { type FloorEvent, FloorResponse } from './floor-response.ts';
import { type FloorRequest, FloorSnapshots, type Snapshots } from './floor-snapshot.ts';

/** A streamed answer of a floor, by turns of the event loop. */
export class FloorAnswer {
  private readonly traffic: Traffic;
  private readonly response: FloorResponse;
  private sent = 0;
  private isClosed = false;

  constructor(traffic: Traffic, snapshots: Snapshots) {
    this.traffic = traffic;
    this.response = new FloorResponse(snapshots);
  }

  /** Creates the answer of a minimal floor. */
  static of(request: FloorRequest): FloorAnswer {
    return new FloorAnswer(readTraffic(request.metadata), new FloorSnapshots(request));
  }

  /** Whether `next` has returned all events. */
  get isOver(): boolean {
    return this.isClosed;
  }

  /** The events of the next turn of the event loop: the first turn opens the answer, the last one only closes it. */
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
