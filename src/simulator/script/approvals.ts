import type { Item } from '../../protocol/index.js';
import { ModelError, type Turn } from '../../providers/index.js';
import { isModelItem, isUserMessage } from '../../providers/transcripts/index.js';
import { toMcpCall } from './hosted-calls.js';
import type { ScriptStep } from './script-file.js';

/** A client's answer to the approval that the last response asked for. */
export interface Approval {
  readonly requestId: string;
  readonly server: string;
  readonly tool: string;
  readonly isApproved: boolean;
  /** How often the same tool was asked for since the last user message, from 0. */
  readonly earlier: number;
}

const REQUEST = 'mcp_approval_request';
const RESPONSE = 'mcp_approval_response';

/** Items that belong to a call which waits for an approval. */
const OF_APPROVALS: ReadonlySet<string> = new Set(['mcp_list_tools', REQUEST, RESPONSE]);

/** The answer to an approval with which a transcript ends; null if it ends otherwise. */
export function findApproval(context: readonly Item[]): Approval | null {
  const response = context
    .slice(context.findLastIndex((item) => isModelItem(item) || item.type === REQUEST) + 1)
    .findLast(({ type }) => type === RESPONSE);
  if (response === undefined) return null;
  const asked = context.findIndex(({ type, id }) => type === REQUEST && id === response['approval_request_id']);
  const request = context[asked];
  if (request === undefined) return null;
  const since = context.slice(context.slice(0, asked).findLastIndex(isUserMessage) + 1, asked);
  const { id: requestId, server_label: server, name: tool } = request;
  const isSame = (item: Item): boolean =>
    item.type === REQUEST && item['server_label'] === server && item['name'] === tool;
  return {
    requestId,
    server: String(server),
    tool: String(tool),
    isApproved: response['approve'] === true,
    earlier: since.filter(isSame).length,
  };
}

/** Throws ModelError 400 for an answer to an approval that nothing in the context asks for, or that is answered there before. */
export function requireAskedApprovals({ input, context }: Turn): void {
  for (const [index, { type, approval_request_id: id }] of input.entries()) {
    if (type !== RESPONSE) continue;
    const isAsked = context.some((item) => item.type === REQUEST && item.id === id);
    const answers = context.filter((item) => item.type === RESPONSE && item['approval_request_id'] === id);
    if (isAsked && answers.length < 2) continue;
    const message = isAsked
      ? `The approval request '${String(id)}' was answered before.`
      : `No approval request found with the id '${String(id)}'.`;
    throw new ModelError('invalid_value', message, { status: 400, param: `input[${index}].approval_request_id` });
  }
}

/** The index of the step that asked for an approval; -1 if none did. */
export function findAskingStep(steps: readonly ScriptStep[], { server, tool, earlier }: Approval): number {
  const asking = [...steps.keys()].filter((index) => {
    const { mcp } = steps[index] ?? {};
    if (mcp === undefined) return false;
    const call = toMcpCall(mcp);
    return call.approval === true && call.server === server && call.tool === tool;
  });
  return asking[earlier] ?? asking.at(-1) ?? -1;
}

/** A transcript in which a call that waited for its approval looks as if it had not. */
export function withoutApprovals(context: readonly Item[]): readonly Item[] {
  return context.filter(({ type }) => !OF_APPROVALS.has(type));
}
