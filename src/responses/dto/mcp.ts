/** What requests say of MCP servers. */
import { IsArray, IsBoolean, IsObject, IsOptional, IsString, MinLength } from 'class-validator';

import {
  anyString,
  Closed,
  described,
  every,
  exactly,
  isObject,
  listOf,
  nested,
  Satisfies,
  schemaOf,
  unknownValue,
  Violation,
  wrongType,
} from '../../validation/index.js';
import { namesUrlSecret } from '../../tools/mcp/index.js';
import { AnyItem } from './any-item.js';

const APPROVALS = ['always', 'never'];

/** Some tools of a server. */
class McpToolFilterBody {
  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  readonly tool_names?: readonly string[] | null;

  @IsOptional()
  @IsBoolean()
  readonly read_only?: boolean | null;
}

const filter = exactly(McpToolFilterBody);

/** The tools whose calls need approvals, and those whose calls need none. */
class McpApprovalBody {
  @IsOptional()
  @Satisfies(filter)
  readonly always?: object | null;

  @IsOptional()
  @Satisfies(filter)
  readonly never?: object | null;
}

const approvalRules = exactly(McpApprovalBody);

const requireApproval = described(
  (value, options) => {
    if (typeof value === 'string') return APPROVALS.includes(value) ? null : unknownValue(value, APPROVALS);
    return isObject(value) ? approvalRules(value, options) : wrongType('one of a string or object', value);
  },
  (definitions) => ({ anyOf: [{ type: 'string', enum: APPROVALS }, schemaOf(approvalRules, definitions)] }),
);

const names = listOf(anyString, 'an array of strings');

const allowedTools = described(
  (value, options) => {
    if (Array.isArray(value)) return names(value, options);
    return isObject(value) ? filter(value, options) : wrongType('one of an array of strings or object', value);
  },
  (definitions) => ({ anyOf: [schemaOf(names, definitions), schemaOf(filter, definitions)] }),
);

@Closed()
class McpToolBody {
  @IsString()
  readonly type!: string;

  @IsString()
  @MinLength(1)
  readonly server_label!: string;

  @IsOptional()
  @IsString()
  readonly server_url?: string | null;

  @IsOptional()
  @IsString()
  readonly connector_id?: string | null;

  @IsOptional()
  @IsString()
  readonly tunnel_id?: string | null;

  @IsOptional()
  @IsString()
  readonly server_description?: string | null;

  @IsOptional()
  @IsObject()
  readonly headers?: object | null;

  @IsOptional()
  @IsString()
  readonly authorization?: string | null;

  @IsOptional()
  @Satisfies(allowedTools)
  readonly allowed_tools?: readonly string[] | object | null;

  @IsOptional()
  @Satisfies(requireApproval)
  readonly require_approval?: string | object | null;

  @IsOptional()
  @IsBoolean()
  readonly defer_loading?: boolean | null;
}

const ADDRESSES = ['server_url', 'connector_id', 'tunnel_id'];

/** Refuses a tool that says twice where its server is: whoever runs it could take either. */
const oneAddress = described((value) => {
  const [first, second] = ADDRESSES.filter((name) => (value as Readonly<Record<string, unknown>>)[name] != null);
  if (second === undefined) return null;
  return new Violation('mutually_exclusive_parameters', (path) => {
    const tool = path.slice(0, -second.length);
    return `Mutually exclusive parameters: '${tool}${first}' and '${path}'. Ensure you are only providing one of them.`;
  }).under(second);
}, {});

/** `mcp` (protocol §3.4). Whose tools they are is known to the policy that calls them: a label alone may do. */
export const mcpTool = every([nested(McpToolBody), oneAddress]);

/** Whether a tool that an item brings is without credentials: items are stored and given back, and credentials are for one request. */
export const withoutCredentials = described((value) => {
  const { type, authorization, headers, server_url: url } = Object(value) as Readonly<Record<string, unknown>>;
  const member = [
    authorization != null && 'authorization',
    Object.keys(Object(headers) as object).length > 0 && 'headers',
    typeof url === 'string' && namesUrlSecret(url) && 'server_url',
  ].find((name) => name !== false);
  if (type !== 'mcp' || member === undefined) return null;
  const describe = (path: string): string =>
    `Invalid '${path}': items are stored, and credentials are not. Name the tool in 'tools'.`;
  return new Violation('invalid_value', describe).under(member);
}, {});

/** `mcp_approval_response` (protocol §3.1). */
export class McpApprovalResponse extends AnyItem {
  @IsString()
  readonly approval_request_id!: string;

  @IsBoolean()
  readonly approve!: boolean;

  @IsOptional()
  @IsString()
  readonly reason?: string | null;
}

/** `mcp_approval_request`, and `mcp_call` beside its result (protocol §3.1). */
export class McpCallItem extends AnyItem {
  @IsString()
  readonly server_label!: string;

  @IsString()
  readonly name!: string;

  @IsString()
  readonly arguments!: string;

  @IsOptional()
  @IsString()
  readonly approval_request_id?: string | null;
}

/** `mcp_list_tools` (protocol §3.1). */
export class McpListItem extends AnyItem {
  @IsString()
  readonly server_label!: string;

  @IsArray()
  readonly tools!: readonly unknown[];
}
