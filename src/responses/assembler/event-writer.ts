import type { ResponseObject, StreamEvent } from '../../protocol/index.js';
import type { AssemblerNote, AssemblerState, NoteBody } from './state.js';

/** The `deltaLength` of events that carry no delta. */
const NO_DELTA = -1;

/** What is written for a response: nothing, events, or events and notes. */
export type Writing = 'nothing' | 'events' | 'events and notes';

/**
 * Numbers and serialises the events of one response and collects them until a batch is taken. With `nothing`, no text
 * is made: the JSON transport needs only the Response.
 */
export class EventWriter {
  /** Whether nothing is written, so that callers can skip preparing texts. */
  readonly isSilent: boolean;
  private events: StreamEvent[] = [];
  private notes: AssemblerNote[] = [];

  constructor(
    readonly state: AssemblerState,
    private readonly writing: Writing,
  ) {
    this.isSilent = writing === 'nothing';
  }

  /** Appends an event. `members` is JSON text that follows the type and number: `,"item_id":"msg_1"`. */
  write(type: string, members: string, deltaLength = NO_DELTA): void {
    if (!this.isSilent) this.append(type, members, deltaLength, null);
  }

  /** Appends a delta. `prefix` is everything up to the delta's value and is made once per part, not per delta. */
  writeDelta(type: string, prefix: string, delta: string): void {
    this.state.characters += 1 + delta.length;
    if (this.isSilent) return;
    const json = JSON.stringify(delta);
    this.append(type, prefix + json, delta.length, null, json);
  }

  /** Appends the terminal event. `json` is the Response as JSON text without its closing brace. */
  writeTerminal(type: string, response: ResponseObject, json: string): void {
    if (!this.isSilent) this.append(type, `,"response":${json}}`, NO_DELTA, response);
  }

  /** Appends a note before the next event. */
  note(body: NoteBody): void {
    if (this.writing === 'events and notes') this.notes.push({ ...body, before: this.state.sequenceNumber });
  }

  /** The events since the last call. */
  takeEvents(): readonly StreamEvent[] {
    const { events } = this;
    if (events.length > 0) this.events = [];
    return events;
  }

  /** The notes since the last call. */
  takeNotes(): readonly AssemblerNote[] {
    const { notes } = this;
    if (notes.length > 0) this.notes = [];
    return notes;
  }

  private append(
    type: string,
    members: string,
    deltaLength: number,
    response: ResponseObject | null,
    delta?: string,
  ): void {
    const sequenceNumber = this.state.sequenceNumber++;
    const json = `{"type":"${type}","sequence_number":${sequenceNumber}${members}`;
    this.events.push({ type, sequenceNumber, json, deltaLength, delta, response });
  }
}
