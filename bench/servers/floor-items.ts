import { randomUUID } from 'node:crypto';

/** An output item of a floor. */
export interface FloorItem {
  readonly id: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

/** A new id of the service's form. */
export function makeId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}

/** A part of a message of the model. */
export function toOutputText(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

/** A finished message. */
export function toMessage(id: string, role: 'user' | 'assistant', part: object): FloorItem {
  return { id, type: 'message', status: 'completed', role, content: [part] };
}
