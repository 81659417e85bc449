import { createHash } from 'node:crypto';

import type { ForeignItem } from '../../protocol/index.js';

/** The longest name of a function that upstreams take. */
const LONGEST_NAME = 64;

/** The names of functions that upstreams take. */
const PLAIN_NAME = /^[a-zA-Z0-9_-]+$/;

/** Stands between the label and the tool. */
const BETWEEN = '__';

/** Characters of the digest that tells names apart which are cut, hold other characters, or could be those of others. */
const DIGEST_CHARACTERS = 8;

const DENIED = 'The user has denied this call.';
const UNANSWERED = 'The call was not run: nobody has approved it.';
const STOPPED = 'The call was stopped while it ran. Whether the server has carried it out is unknown.';

/** The name of the function that stands for a tool of an MCP server: always the same beside the same names of other tools, `taken`. */
export function mcpFunctionName(label: string, tool: string, taken?: ReadonlySet<unknown>): string {
  const plain = `${label}${BETWEEN}${tool}`;
  const isUnique = !plain.includes(BETWEEN, plain.indexOf(BETWEEN) + BETWEEN.length) && taken?.has(plain) !== true;
  if (isUnique && plain.length <= LONGEST_NAME && PLAIN_NAME.test(plain)) return plain;
  const name = plain.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
  const digest = createHash('sha256')
    .update(JSON.stringify([label, tool]))
    .digest('hex')
    .slice(0, DIGEST_CHARACTERS);
  return `${name.slice(0, LONGEST_NAME - DIGEST_CHARACTERS - 1)}_${digest}`;
}

/** The output of an `mcp_call`, as a model reads it. */
export function outputOfMcpCall({ output, error }: ForeignItem): string {
  if (typeof output === 'string') return output;
  return error == null ? STOPPED : `Error: ${typeof error === 'string' ? error : JSON.stringify(error)}`;
}

/** What a model reads in place of the output of a call that waited for its approval and was not run. */
export function outputOfRefusedCall(answer: ForeignItem | undefined): string {
  if (answer === undefined || answer['approve'] === true) return UNANSWERED;
  const { reason } = answer;
  return typeof reason === 'string' && reason !== '' ? `${DENIED} Reason: ${reason}` : DENIED;
}

/** A call and its output, as those of the function that stands for its tool. The ids have no form that an upstream would be sent. */
export function toFunctionCall(
  { id, arguments: given }: ForeignItem & { readonly id: string },
  name: string,
  output: string | readonly object[],
): readonly (ForeignItem & { readonly id: string })[] {
  return [
    { id: `call:${id}`, type: 'function_call', call_id: id, name, arguments: typeof given === 'string' ? given : '{}' },
    { id: `output:${id}`, type: 'function_call_output', call_id: id, output },
  ];
}
