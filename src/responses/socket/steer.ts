import { callIdOf, ERROR_CODES, type ErrorCode, isOutput, type Item } from '../../protocol/index.js';
import { describeSteerInput } from '../dto/index.js';
import type { ActiveTurn } from '../turn/active-turn.js';
import type { ClientFrame } from './client-frame.js';

/** A `response.steer` that was accepted and whose input is not applied yet. */
export interface Steer {
  readonly id: string;
  readonly previousResponseId: string;
  /** As it was sent; validated. */
  readonly input: string | readonly object[];
  /** Bytes of its message. */
  readonly bytes: number;
}

/** The codes of `response.steer.failed` (protocol §6.8). */
export type SteerFailure = Extract<
  ErrorCode,
  | 'response_not_found'
  | 'invalid_input'
  | 'steering_not_supported'
  | 'too_many_pending_steers'
  | 'response_already_completed'
  | 'response_not_active'
  | 'successor_creation_failed'
>;

/** Why an event of a client is refused, for the client. */
export type SteerRefusal<Code extends ErrorCode> = readonly [code: Code, message: string];

/** Why a response that is not running any more can be neither steered nor interrupted. */
export type WhyEnded = SteerRefusal<'response_already_completed' | 'response_not_active'>;

export const HAS_ENDED: WhyEnded = [
  'response_already_completed',
  'The response has ended. Continue it with response.create.',
];

export const HAS_FAILED: WhyEnded = ['response_not_active', 'The response has failed.'];

/** The response has ended for its steers, and the server creates its successor. */
export const WAS_STEERED: WhyEnded = [
  'response_already_completed',
  'The response was steered; steer its successor, whose response.created follows.',
];

/** Why a running response cannot be steered; null when it can. */
export function whyNotSteerable({ isSteerable, admitted }: ActiveTurn): string | null {
  const { settings, parameters, generate } = admitted;
  if (!isSteerable || !generate)
    return "The model of this response cannot be steered. Send 'response.create' when it has ended.";
  if (settings.conversation != null) return 'A response of a conversation cannot be steered.';
  if ((parameters.context_management?.length ?? 0) > 0) return 'A response with context_management cannot be steered.';
  return null;
}

/** What is wrong with a `response.steer` besides the response that it names; null when nothing is. */
export function describeSteer(frame: ClientFrame): string | null {
  return describeUnknown(frame, ['previous_response_id', 'input']) ?? describeSteerInput(frame.input);
}

/** The only mode of `response.interrupt`. */
const DISCARD = 'discard_partial_items';

/** What is wrong with a `response.interrupt` besides the response that it names; null when nothing is. */
export function describeInterrupt(frame: ClientFrame): string | null {
  if (frame['mode'] !== DISCARD) return `Invalid value for 'mode'. Supported values are: '${DISCARD}'.`;
  return describeUnknown(frame, ['response_id', 'mode']);
}

function describeUnknown(frame: ClientFrame, known: readonly string[]): string | null {
  const other = Object.keys(frame).find((member) => member !== 'type' && !known.includes(member));
  if (other === undefined) return null;
  const reason = other === 'stream_id' ? ' The response decides the lane.' : '';
  return `Unknown parameter: '${other.slice(0, 64)}'.${reason}`;
}

/** The input of several steers as items of a request, in order. */
export function itemsOf(steers: readonly Steer[]): readonly object[] {
  return steers.flatMap(({ input }) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input));
}

/** `response.steer.accepted`, the members behind its number, as JSON text. */
export function acceptedMembers(steer: Steer): string {
  return `,"steer":${JSON.stringify(toPublic(steer))}`;
}

/** The members of `response.steer.pending` behind its number, as JSON text. */
export function pendingMembers(steer: Steer, required: readonly RequiredInput[]): string {
  const members = { reason: 'waiting_for_required_input', required_input: required, steer: toPublic(steer) };
  return `,${JSON.stringify(members).slice(1, -1)}`;
}

/** The members of `response.steer.failed` behind its number, as JSON text; `steer` is the refused frame, or an accepted one. */
export function failedMembers(
  steer: { readonly id?: string; readonly previousResponseId: unknown; readonly input: unknown },
  code: SteerFailure,
  message: string,
): string {
  const { id, previousResponseId, input } = steer;
  const { type } = ERROR_CODES[code];
  const members = {
    error: { type, code, message },
    steer: {
      ...(id === undefined ? {} : { id }),
      previous_response_id: previousResponseId ?? null,
      input: input ?? null,
    },
  };
  return `,${JSON.stringify(members).slice(1, -1)}`;
}

function toPublic({ id, previousResponseId }: Steer): object {
  return { id, previous_response_id: previousResponseId };
}

/** An item that the client has to send before the model can go on, as `response.steer.pending` shows it. */
export type RequiredInput = Readonly<Record<string, unknown>> & { readonly type: string };

/** The item that answers one of the model's, by its type (protocol §6.8). */
const ANSWERS: Readonly<Record<string, (item: Item) => RequiredInput>> = {
  function_call: ({ call_id, name }) => ({ type: 'function_call_output', call_id, name }),
  custom_tool_call: ({ call_id }) => ({ type: 'custom_tool_call_output', call_id }),
  computer_call: ({ call_id }) => ({ type: 'computer_call_output', call_id }),
  shell_call: ({ call_id }) => ({ type: 'shell_call_output', call_id }),
  apply_patch_call: ({ call_id }) => ({ type: 'apply_patch_call_output', call_id }),
  tool_search_call: ({ call_id }) => ({ type: 'tool_search_output', call_id, execution: 'client' }),
  mcp_approval_request: ({ id }) => ({ type: 'mcp_approval_response', approval_request_id: id }),
};

/** What the client has to send after an output, besides what its server has answered with `given` items. */
export function requiredInputOf(output: readonly Item[], given: readonly Item[]): readonly RequiredInput[] {
  const answered = new Set([...output, ...given].filter(isOutput).map(callIdOf));
  return output.flatMap((item) => {
    const answer = Object.hasOwn(ANSWERS, item.type) ? ANSWERS[item.type] : undefined;
    const isOpen = item['execution'] !== 'server' && item['async'] !== true && !answered.has(callIdOf(item));
    return answer !== undefined && (isOpen || item.type === 'mcp_approval_request') ? [answer(item)] : [];
  });
}
