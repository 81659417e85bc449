import type { ErrorCode } from '../../protocol/index.js';

/** Why an event of a client is refused, for the client. */
export type SteerRefusal<Code extends ErrorCode> = readonly [code: Code, message: string];

/** Why a response that is not running any more can be neither steered nor interrupted. */
export type WhyEnded = SteerRefusal<'response_already_completed' | 'response_not_active'>;

export const HAS_ENDED: WhyEnded = [
  'response_already_completed',
  'The response has ended. Continue it with response.create.',
];

export const HAS_FAILED: WhyEnded = ['response_not_active', 'The response has failed.'];

/** It has ended for its steers, and the server creates its successor. */
export const WAS_STEERED: WhyEnded = [
  'response_already_completed',
  'The response was steered; steer its successor, whose response.created follows.',
];

/** A response that has ended. */
export interface EndedResponse {
  /** Its lane. */
  readonly streamId: string | undefined;
  readonly why: WhyEnded;
}

/** Most responses that a connection remembers (protocol §6.8). */
export const MAX_REMEMBERED = 64;
