import { EventStreamReader } from '../../upstream-http/index.js';
import type { AnswerTaker } from './exchange.js';

/** Hands the events of an event stream to a taker, piece by piece, with one flush for each piece. */
export class EventFeed {
  private readonly events = new EventStreamReader(({ data }) => this.take(data));
  private isTerminal = false;
  private hasTaken = false;

  constructor(private readonly taker: AnswerTaker) {}

  /** Whether the taker has said that the answer is over. */
  get isOver(): boolean {
    return this.isTerminal;
  }

  /** Reads a piece. Returns whether it ended an event with data; only then does `flush` have something to do. */
  read(piece: Uint8Array): boolean {
    this.hasTaken = false;
    this.events.read(piece);
    return this.hasTaken;
  }

  /** Reads the last event, even without the blank line after it. Returns the same as `read`. */
  end(): boolean {
    this.hasTaken = false;
    this.events.end();
    return this.hasTaken;
  }

  private take(data: string): void {
    if (data === '' || this.isTerminal) return;
    this.hasTaken = true;
    this.isTerminal = this.taker.take(data);
  }
}
