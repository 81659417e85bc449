import { isObject, objectsIn } from '../../../validation/index.js';
import type { UpstreamFailure } from '../../upstream-errors/error-body.js';
import type { Capabilities } from '../capabilities.js';

type Body = Readonly<Record<string, unknown>>;

/** A refusal that a capability of the entry avoids. */
interface Remedy {
  /** What servers say. */
  readonly words: RegExp;
  /** Whether the request has what they refuse. */
  readonly applies: (capabilities: Capabilities, body: Body) => boolean;
  /** The capability, as a providers file has it. */
  readonly setting: string;
}

/** Whether a message of the request has one of these roles. */
const hasRole = ({ messages }: Body, ...roles: readonly unknown[]): boolean =>
  objectsIn(messages).some(({ role }) => roles.includes(role));

const hasSystem = (body: Body): boolean => hasRole(body, 'system', 'developer');

const hasStrictTool = ({ tools }: Body): boolean =>
  objectsIn(tools).some(({ function: tool }) => isObject(tool) && tool.strict === true);

/** The first one counts. */
const REMEDIES: readonly Remedy[] = [
  {
    words: /roles must alternate|unexpected role ['"`]?user|consecutive (?:user|messages)/i,
    applies: ({ roleOrder }) => roleOrder === 'any',
    setting: 'role_order: alternating',
  },
  {
    words: /\bdeveloper\b/i,
    applies: (_, body) => hasRole(body, 'developer'),
    setting: 'developer_role: false',
  },
  {
    words: /system.{0,40}(?:beginning|first)|unexpected role ['"`]?system/i,
    applies: ({ systemRole }, body) => systemRole === 'anywhere' && hasSystem(body),
    setting: 'system_role: first',
  },
  {
    words: /system (?:role|messages?).{0,20}not supported|only user(?:,| and) assistant/i,
    applies: ({ systemRole }, body) => systemRole !== 'none' && hasSystem(body),
    setting: 'system_role: none',
  },
  {
    words: /\bmax_completion_tokens\b.{0,20}instead/i,
    applies: ({ maxTokensField }) => maxTokensField === 'max_tokens',
    setting: 'max_tokens_field: max_completion_tokens',
  },
  {
    words: /\bmax_completion_tokens\b/i,
    applies: ({ maxTokensField }) => maxTokensField === 'max_completion_tokens',
    setting: 'max_tokens_field: max_tokens',
  },
  { words: /stream_options/i, applies: (_, body) => 'stream_options' in body, setting: 'stream_usage: false' },
  {
    words: /tool.?call.?id.{0,80}(?:length|a-z)/i,
    applies: ({ callIds }) => callIds === 'any',
    setting: 'call_ids: nine',
  },
  {
    words: /allowed_tools/i,
    applies: ({ allowedTools }) => allowedTools,
    setting: 'allowed_tools: false',
  },
  {
    // One that demands a call at all is refused, too, while the model thinks.
    words: /^(?!.*think).*tool_choice/is,
    applies: ({ namedToolChoice }, { tool_choice: choice }) => namedToolChoice && typeof choice === 'object',
    setting: 'named_tool_choice: false',
  },
  {
    words: /response_format|json_schema|structured output/i,
    applies: ({ structuredOutput }, body) => structuredOutput === 'json_schema' && 'response_format' in body,
    setting: 'structured_output: json_object',
  },
  {
    words: /reasoning_content.{0,80}(?:pass|miss|requir|must)/i,
    applies: ({ reasoningOnCalls }) => !reasoningOnCalls,
    setting: 'reasoning_replay: reasoning_content, reasoning_on_calls: true',
  },
  {
    words: /reasoning_effort/i,
    applies: (_, body) => 'reasoning_effort' in body,
    setting: 'reasoning_switch: none',
  },
  {
    words: /messages\W{1,3}\d+\W.{0,12}\bname\b/i,
    applies: ({ toolNames }) => toolNames,
    setting: 'tool_names: false',
  },
  { words: /\bstrict\b/i, applies: (_, body) => hasStrictTool(body), setting: 'strict_tools: false' },
];

/** How servers say that they do not know a member. */
const UNKNOWN = /unsupported|not (?:supported|permitted|allowed)|un(?:known|recognized|expected)|extra/i;

/** Members that no entry can omit: without them there is no request. */
const NEEDED: ReadonlySet<string> = new Set(['model', 'messages', 'stream', 'tools']);

/**
 * What of the provider's entry makes a request pass that its server refuses in these words, as a providers file has it; undefined if
 * nothing is known.
 */
export function remedyOf(
  { message, param }: Pick<UpstreamFailure, 'message' | 'param'>,
  capabilities: Capabilities,
  body: Body,
): string | undefined {
  const found = REMEDIES.find(({ words, applies }) => words.test(message) && applies(capabilities, body));
  if (found !== undefined) return `capabilities: { ${found.setting} }`;
  if (!UNKNOWN.test(message)) return undefined;
  const words = new Set(message.split(/\W+/)).add(param ?? '');
  const member = Object.keys(body).find((name) => !NEEDED.has(name) && words.has(name));
  return member === undefined ? undefined : `omit: [${member}]`;
}
