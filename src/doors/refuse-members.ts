import { ApiError } from '../protocol/index.js';
import { CreateRequestBody } from '../responses/index.js';
import { membersOf, refuseUnknown } from '../validation/index.js';
import { ChatCompletionBody } from './chat/body.js';
import type { TranslationOptions } from './door-turns.js';

/** The members of the other APIs. */
const FOREIGN = [
  { api: 'the Responses API', members: membersOf(CreateRequestBody) },
  { api: 'Chat Completions', members: membersOf(ChatCompletionBody) },
] as const;

/**
 * Refuses members of a body that its API does not have: those of other APIs, which say what they cannot mean here, and what UNKNOWN_PARAMETERS says of
 * the others. Throws ApiError 400.
 *
 * @param known the members that the API has, translated or not
 * @param ofGateways members of other APIs that gateways have in this one, too
 */
export function refuseMembers(
  members: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
  { check, forwarded }: TranslationOptions,
  ofGateways: readonly string[] = [],
): void {
  if (check.unknownParameters === 'ignore') return;
  for (const [name, value] of Object.entries(members)) {
    if (value == null || known.has(name) || forwarded.has(name) || ofGateways.includes(name)) continue;
    const api = FOREIGN.find((each) => each.members.has(name))?.api;
    if (api === undefined) continue;
    throw ApiError.of('unknown_parameter', `Unknown parameter: '${name}'. It belongs to ${api}.`, { param: name });
  }
  const unknown = refuseUnknown(members, known, check, forwarded);
  if (unknown !== null) throw unknown.toError();
}
