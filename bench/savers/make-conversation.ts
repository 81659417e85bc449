import type { ResponseObject, ResponseRecord } from 'antiphon';

import { makeId, toMessage, toOutputText } from '../servers/floor-items.ts';
import { toSnapshot, toUsage } from '../servers/floor-snapshot.ts';
import { DELTA } from '../traffic.ts';
import type { SaveJob } from './job.ts';

/** Lifetime of the responses, ms: longer than the benchmark. */
const LIFETIME_MS = 24 * 60 * 60 * 1000;

/** The responses of a chain, in order, each with one question and one answer in text. */
export function makeConversation({ responsesPerConversation, deltas }: SaveJob): readonly ResponseRecord[] {
  const ids = Array.from({ length: responsesPerConversation }, () => makeId('resp'));
  const sessionId = ids[0] ?? '';
  return ids.map((id, turn) => ({
    response: makeResponse(id, deltas),
    input: [toMessage(makeId('msg'), 'user', { type: 'input_text', text: 'Tell me about the harbor.' })],
    parentId: ids[turn - 1] ?? null,
    given: [],
    inherited: [],
    origin: { provider: 'bench' },
    sessionId,
    conversation: null,
    fence: null,
    expiresAt: Date.now() + LIFETIME_MS,
  }));
}

function makeResponse(id: string, deltas: number): ResponseObject {
  const answer = toMessage(makeId('msg'), 'assistant', toOutputText(DELTA.repeat(deltas)));
  return toSnapshot({
    id,
    createdAt: Math.floor(Date.now() / 1000),
    model: 'bench',
    metadata: {},
    status: 'completed',
    output: [answer],
    usage: toUsage(8, deltas),
  }) as ResponseObject;
}
