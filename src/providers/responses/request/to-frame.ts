import { isObject } from '../../../validation/index.js';
import type { Profile } from '../profile.js';
import { TURN_STATE } from '../turn-state.js';
import { type Baseline, planIncrement } from './baseline.js';
import type { UpstreamRequest } from './upstream-request.js';

/** What a frame depends on besides its request. */
export interface FrameOptions {
  readonly profile: Profile;
  /** What the upstream gave within this turn; null if nothing. */
  readonly turnState: string | null;
}

/** A frame to send. */
export interface Frame {
  readonly text: string;
  /** Whether it has only the items that the socket's server does not know. */
  readonly isIncremental: boolean;
}

/** The frame that asks for a response on a socket with this baseline: incremental if the rule of planIncrement allows it. */
export function toFrame(request: UpstreamRequest, baseline: Baseline | null, options: FrameOptions): Frame {
  const { profile } = options;
  const increment = planIncrement(request, baseline, profile);
  request.extended = increment?.isContinuation === true ? baseline : null;
  if (baseline === null || increment === null) {
    const members = { type: 'response.create', ...metadataOf(request, options) };
    return { text: request.toJson(members, request.context), isIncremental: false };
  }
  if (profile.incremental === 'append') {
    return { text: request.toBareJson({ type: 'response.append' }, increment.items), isIncremental: true };
  }
  const members = {
    type: 'response.create',
    previous_response_id: baseline.responseId,
    ...metadataOf(request, options),
  };
  return { text: request.toJson(members, increment.items), isIncremental: true };
}

/** `client_metadata` with the turn state, where the profile sends it back there. */
function metadataOf(
  { incidental, options: { takesMetadata } }: UpstreamRequest,
  { profile, turnState }: FrameOptions,
): Readonly<Record<string, unknown>> {
  if (turnState === null || profile.turnStateTo !== 'client_metadata' || !takesMetadata) return {};
  const { client_metadata: own } = incidental;
  return { client_metadata: { ...(isObject(own) ? own : {}), [TURN_STATE]: turnState } };
}
