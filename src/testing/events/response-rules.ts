import { RESPONSE_MEMBERS } from './event-fields.js';
import { isObject, isSameJson, kindOf, requireRule, type WireEvent } from './rule.js';

/** Throws an Error unless a snapshot of a Response is complete. */
export function requireResponse(response: Readonly<Record<string, unknown>>): void {
  const missing = RESPONSE_MEMBERS.filter((member) => response[member] === undefined);
  requireRule(missing.length === 0, `the response lacks ${missing.join(', ')}`);
  requireRule(response['object'] === 'response', 'object must be response');
  const { id } = response;
  requireRule(typeof id === 'string' && /^resp_./.test(id), 'the response must have an id that begins with resp_');
}

/** Throws an Error unless the members of a final Response match its status. */
export function requireEnding(response: Readonly<Record<string, unknown>>): void {
  const { status, completed_at: completedAt, error, incomplete_details: details, usage } = response;
  requireRule((typeof completedAt === 'number') === (status === 'completed'), 'completed_at belongs to completed only');
  requireRule(isError(error) === (status === 'failed'), 'error with code and message belongs to failed only');
  requireRule((details !== null) === (status === 'incomplete'), 'incomplete_details belongs to incomplete only');
  requireRule(status !== 'cancelled' || usage === null, 'usage of a cancelled response must be null');
  const mayBeNull = status === 'failed' || status === 'cancelled';
  requireRule(isUsage(usage) || (usage === null && mayBeNull), 'usage must be complete and add up');
}

/**
 * Throws an Error unless the output of a final Response is the items that are done. In the background it may lack items
 * that another process did not finish: a client would join what they say to what follows.
 */
export function requireOutput(
  { output, background }: Readonly<Record<string, unknown>>,
  done: readonly (WireEvent | null)[],
): void {
  const kept = new Set(Array.isArray(output) ? output.map((item) => (item as WireEvent | null)?.['id']) : []);
  const isLeftOut = (item: WireEvent | null): boolean =>
    background === true && !kept.has(item?.['id']) && item?.['status'] !== 'completed';
  requireRule(
    isSameJson(
      output,
      done.filter((item) => !isLeftOut(item)),
    ),
    'the output of the terminal event must be the items of output_item.done',
  );
}

/** Throws an Error if a Response in progress has members of a final one. */
export function requireUnfinished({
  output,
  usage,
  completed_at: completedAt,
  error,
  incomplete_details: details,
}: WireEvent): void {
  requireRule(Array.isArray(output) && output.length === 0, 'output must be empty before the end');
  const early = [usage, completedAt, error, details].some((value) => value !== null);
  requireRule(!early, 'usage, completed_at, error and incomplete_details must be null before the end');
}

function isError(value: unknown): boolean {
  return isObject(value) && typeof value['code'] === 'string' && typeof value['message'] === 'string';
}

function isUsage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { input_tokens: input, output_tokens: output, total_tokens: total } = value;
  const { input_tokens_details: inputDetails, output_tokens_details: outputDetails } = value;
  if (!isObject(inputDetails) || !isObject(outputDetails)) return false;
  const counts = [input, output, inputDetails['cached_tokens'], inputDetails['cache_write_tokens']];
  const every = [...counts, outputDetails['reasoning_tokens']].every((count) => kindOf(count) === 'integer');
  return every && total === (input as number) + (output as number);
}
