import type { ForeignItem } from '../../../protocol/index.js';
import type { ForeignEvent } from '../../model-event.js';

/** Calls, and characters of all of their payloads, that are held. */
const MOST_CALLS = 256;
const MOST_CHARACTERS = 32 * 1024 * 1024;

/** The payload of a call that no event has announced so far, and what its events say of the call. */
export interface HeldPayload {
  readonly type: string;
  readonly index: unknown;
  readonly id: unknown;
  name?: unknown;
  callId?: unknown;
  text: string;
}

/** A piece of a payload, or all of it. */
export interface HeldPiece {
  readonly text: string;
  readonly isWhole: boolean;
}

/** Arguments and inputs that come before the call that they belong to, or without it. */
export class HeldPayloads {
  private held: HeldPayload[] = [];
  private characters = 0;

  /**
   * Keeps a piece of the payload of a call of a type. A `whole` payload takes the place of its pieces. Returns false once there is more than
   * is held.
   */
  add(type: string, event: ForeignEvent, { text, isWhole }: HeldPiece): boolean {
    const { output_index: index, item_id: id, name, call_id: callId } = event;
    let payload = this.held.find((held) => held.type === type && isSame(held, index, id));
    if (payload === undefined) {
      payload = { type, index, id, text: '' };
      this.held.push(payload);
    }
    payload.text = isWhole ? text : payload.text + text;
    payload.name ??= name;
    payload.callId ??= callId;
    this.characters += text.length;
    return this.held.length <= MOST_CALLS && this.characters <= MOST_CHARACTERS;
  }

  /** Takes the payload of a call that is now known; empty if none is held. */
  take(index: unknown, { type, id }: ForeignItem): string {
    if (this.held.length === 0) return '';
    const payload = this.held.find((held) => held.type === type && isSame(held, index, id));
    this.held = this.held.filter((held) => held !== payload);
    return payload?.text ?? '';
  }

  /** Takes what is left. */
  takeAll(): readonly HeldPayload[] {
    const { held } = this;
    this.held = [];
    return held;
  }
}

/** Whether a payload is that of an index and an id. One that has neither may be that of any. */
function isSame(held: HeldPayload, index: unknown, id: unknown): boolean {
  if (held.index == null && held.id == null) return true;
  if (held.id != null && id != null) return held.id === id;
  return held.index != null && held.index === index;
}
