import { isProtocolEvent, isRateLimitHeader, RATE_LIMITS_EVENT } from '../../protocol/index.js';
import type { ForeignEvent } from '../../providers/index.js';
import { ProviderContractError, requireText } from '../assembler/output-item.js';
import type { ActiveTurn } from './active-turn.js';

type Headers = Readonly<Record<string, string>>;

/**
 * The characters of an event that is not part of the response. Throws ProviderContractError unless it has a type that only a
 * provider sends, TypeError if it is not JSON.
 */
export function requireForeign(event: ForeignEvent): number {
  requireText(event.type, 'the type of an event');
  if (isProtocolEvent(event.type)) throw new ProviderContractError(`a provider cannot send the event ${event.type}`);
  return JSON.stringify(event).length;
}

/** Whether an event states rate limits, which come before the response, as headers do. */
export function isLimits({ type }: ForeignEvent): boolean {
  return type === RATE_LIMITS_EVENT;
}

/** Whether an event states rate limits of a provider to a client that was told those of the service: two would be taken for one. */
export function isForeignLimit(event: ForeignEvent, turn: ActiveTurn): boolean {
  return isLimits(event) && isLimited(turn);
}

/** The headers of a provider; without its rate limits if the client was told those of the service. */
export function withoutForeignLimits(headers: Headers, turn: ActiveTurn): Headers {
  if (!isLimited(turn)) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isRateLimitHeader(name)));
}

function isLimited({ lease }: ActiveTurn): boolean {
  return Object.keys(lease?.headers ?? {}).some(isRateLimitHeader);
}
