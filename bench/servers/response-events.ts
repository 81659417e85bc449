import { FloorResponse, type FloorEvent } from './floor-response.ts';
import { FloorSnapshots } from './floor-snapshot.ts';
import type { PacedAnswer } from './send-paced.ts';

/** A text answer of the Responses API as JSON texts, one per event. */
export class ResponseEvents implements PacedAnswer {
  private readonly response: FloorResponse;

  constructor(model: string) {
    this.response = new FloorResponse(new FloorSnapshots({ model, metadata: {} }));
  }

  /** The events before the first delta. */
  open(): readonly string[] {
    return toJson(this.response.open());
  }

  /** The event of a delta. */
  delta(text: string): string {
    return JSON.stringify(this.response.delta(text));
  }

  /** The events after the last delta. */
  close(outputTokens: number): readonly string[] {
    return toJson(this.response.close(outputTokens));
  }
}

function toJson(events: readonly FloorEvent[]): readonly string[] {
  return events.map((event) => JSON.stringify(event));
}
