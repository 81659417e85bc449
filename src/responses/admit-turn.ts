import type { Caller } from '../access/index.js';
import {
  type ContentPart,
  type CreateResponseRequest,
  type IdGenerator,
  type InputItem,
  type Item,
  itemIdPrefix,
} from '../protocol/index.js';
import { pickTurnHeaders } from '../providers/index.js';
import type { Clock } from '../time/index.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { typeOfItem } from './dto/index.js';
import { resolveSettings } from './resolve-settings.js';

/** What the transport knows of a turn beyond its request. */
export interface AdmitOptions {
  /** False only prepares a context to be continued (protocol §6.4). */
  readonly generate?: boolean;
  /** As they came, of the request or of the upgrade. */
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Makes a turn of a validated request: ids and time are given here, the model is not asked yet. */
export function admitTurn(
  request: CreateResponseRequest,
  caller: Caller,
  { generate = true, headers = {} }: AdmitOptions,
  ids: IdGenerator,
  clock: Clock,
): AdmittedTurn {
  return {
    responseId: ids.next('resp'),
    createdAt: clock.nowInSeconds(),
    caller,
    input: toItems(request.input ?? [], ids),
    settings: resolveSettings(request),
    include: request.include ?? [],
    headers: pickTurnHeaders(headers, request.client_metadata),
    generate,
    requestedTier: request.service_tier ?? 'auto',
  };
}

function toItems(input: string | readonly InputItem[], ids: IdGenerator): readonly Item[] {
  if (typeof input === 'string') return [toMessage({ role: 'user', content: input }, ids)];
  return input.map((item) => {
    const type = String(typeOfItem(item));
    return type === 'message' ? toMessage(item, ids) : { ...item, type, id: item.id ?? ids.next(itemIdPrefix(type)) };
  });
}

/** The easy forms of a message (no type, content as a string) become the form that `input_items` shows. */
function toMessage(item: InputItem, ids: IdGenerator): Item {
  const { role, content } = item;
  return {
    ...item,
    type: 'message',
    id: item.id ?? ids.next('msg'),
    status: item['status'] ?? 'completed',
    role,
    content: typeof content === 'string' ? [toTextPart(role, content)] : content,
  };
}

function toTextPart(role: unknown, text: string): ContentPart {
  return role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
}
