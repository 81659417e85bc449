import type { ResponseObject, StreamEvent } from '../../protocol/index.js';
import type { AssemblerNote, AssemblerState, NoteBody } from './state.js';

/** The `deltaLength` of events that carry no delta. */
const NO_DELTA = -1;

/** What is written of a response: nothing at all, its events, or its events with the notes beside them. */
export type Writing = 'nothing' | 'events' | 'events and notes';

/**
 * Numbers and serialises the events of one response and collects them until a batch is taken. Where nothing is written no
 * text is made: that is the JSON transport, which only wants the Response.
 */
export class EventWriter {
  /** Whether nothing is written: then nothing needs to be prepared for it either. */
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
    if (!this.isSilent) this.append(type, prefix + JSON.stringify(delta), delta.length, null);
  }

  /** Appends the event that ends the stream. `json` is the Response as text, and open at its end. */
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

  private append(type: string, members: string, deltaLength: number, response: ResponseObject | null): void {
    const sequenceNumber = this.state.sequenceNumber++;
    const json = `{"type":"${type}","sequence_number":${sequenceNumber}${members}`;
    this.events.push({ type, sequenceNumber, json, deltaLength, response });
  }
}
