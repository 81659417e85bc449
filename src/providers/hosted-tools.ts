import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { quote } from '../logging/index.js';
import { addsTools, ApiError, type Item } from '../protocol/index.js';
import { isObject, objectsIn } from '../validation/index.js';
import { hostedTypeOf, isToolType, TOOL_TYPES } from './hosted-type.js';
import type { ModelRoute } from './model-provider.js';
import { PROGRAMS, whyOnlyPrograms } from './program-tools.js';
import type { Turn } from './turn.js';

/** Most lines about tools that are left out; beyond it, models and types that appear anew are not logged. */
const MOST_LINES = 1000;

/** Characters of types in messages: they are the client's text. */
const LONGEST_TYPE = 64;

/** How a choice gets rid of a tool that it demands. */
const ADVICE = "Choose another tool, or 'auto'.";

/** What a tool with `require_approval` is refused with: without it, the tool would only be left out. */
const NO_APPROVALS =
  "It wants approvals for its calls, but nothing here would call it. Remove it, or set 'require_approval' to 'never'.";

/**
 * What becomes of hosted tools that no provider of a model runs. Many clients send them with every request, such as Codex
 * `web_search`, so they are left out and only echoed, unless the request demands one of them or HOSTED_TOOLS=reject. A type that the API
 * does not have is a mistake, unless a provider of the model takes it.
 */
@Injectable()
export class HostedTools {
  private readonly logger = new Logger('ProviderRegistry');
  private readonly logged = new Set<string>();

  constructor(private readonly environment: Environment) {}

  /**
   * Throws ApiError 400 `unsupported_value` that names the tool, for a turn that must not go on without it, and `invalid_value` for a tool
   * of an unknown type. `input` is the input of the request; a truncated turn may have only part of it. `isRun`: whether the service
   * runs a tool itself.
   */
  check(
    { provider: { hostedTools }, model }: ModelRoute,
    turn: Turn,
    input: readonly Item[],
    isRun: (tool: object) => boolean,
  ): void {
    if (hostedTools === 'all') return;
    const { tools: own, tool_choice: choice } = turn.settings;
    const tools = [...own, ...addedTools(turn)];
    if (tools.length === 0 && !isObject(choice)) return;
    const isMissing = (tool: object): boolean => {
      const type = hostedTypeOf(tool);
      return type !== undefined && !hostedTools.includes(type) && !isRun(tool);
    };
    const forPrograms = hostedTools.includes(PROGRAMS) ? undefined : whyOnlyPrograms(turn, isMissing);
    if (forPrograms !== undefined) throw ApiError.of('unsupported_value', forPrograms, { param: 'tool_choice' });
    const missing = tools.filter(isMissing);
    const placeOf = (tool: object, member = ''): string => {
      const index = tools.indexOf(tool);
      if (index < own.length) return `tools[${index}]${member}`;
      return placeOfAdded(turn, index - own.length, { input, member });
    };
    const unknown = missing.find((tool) => !isToolType(typeOf(tool)));
    if (unknown !== undefined) throw unknownType(typeOf(unknown), placeOf(unknown, '.type'));
    const [first] = missing;
    if (this.environment.HOSTED_TOOLS === 'reject' && first !== undefined) refuse(placeOf(first), first, 'Remove it.');
    const isOnlyMissing = choice === 'required' && missing.length === tools.length && !hasAddedBefore(turn);
    const demanded = findDemanded(choice, isMissing) ?? (isOnlyMissing ? first : undefined);
    if (demanded !== undefined) refuse('tool_choice', declared(demanded, missing), ADVICE);
    const asking = missing.find(wantsApprovals);
    if (asking !== undefined) refuse(placeOf(asking, '.require_approval'), asking, NO_APPROVALS);
    for (const tool of missing) this.log(model.id, tool);
  }

  private log(model: string, tool: object): void {
    const help = whatRuns(tool);
    const hint = help === undefined ? '' : `; the service itself would run it with ${help}`;
    const line = `no provider of the model ${quote(model)} runs ${quote(typeOf(tool))}: the tool is left out${hint}`;
    if (this.logged.size >= MOST_LINES || this.logged.has(line)) return;
    this.logged.add(line);
    this.logger.log(line);
  }
}

/** The tools that items of the input add (protocol §3.1), as some clients send all of theirs. */
function addedTools({ input }: Turn): readonly object[] {
  return input.filter(({ type }) => addsTools(type)).flatMap(({ tools }) => objectsIn(tools));
}

/** The path of one of the tools that items of the input add, or of the input if the request has the item in another form. */
function placeOfAdded(
  turn: Turn,
  position: number,
  { input, member }: { input: readonly Item[]; member: string },
): string {
  const adding = turn.input.filter(({ type }) => addsTools(type));
  const places = adding.flatMap((item) => objectsIn(item.tools).map((_, place) => ({ item, place })));
  const found = places[position];
  const index = found === undefined ? -1 : input.indexOf(found.item);
  return index === -1 ? 'input' : `input[${index}].tools[${found?.place}]${member}`;
}

/** The missing tool that a choice names, or the first one if it allows only missing ones. */
function findDemanded(choice: unknown, isMissing: (tool: object) => boolean): object | undefined {
  if (!isObject(choice)) return undefined;
  const allowed = choice.type === 'allowed_tools' ? objectsIn(choice.tools) : [choice];
  return allowed.every(isMissing) ? allowed[0] : undefined;
}

/** The tool that a choice names by its type and its label, of which it has no other members; the named one if there is no such tool. */
function declared(named: object, tools: readonly object[]): object {
  const labelOf = (tool: { readonly server_label?: unknown }): unknown => tool.server_label;
  return tools.find((tool) => typeOf(tool) === typeOf(named) && labelOf(tool) === labelOf(named)) ?? named;
}

/** Whether items of the context may have added tools (protocol §3.1). */
function hasAddedBefore({ context }: Turn): boolean {
  return context.some(({ type }) => addsTools(type));
}

/** Whether a tool states a rule by which its calls wait for approvals: who relies on that must not go on without it. */
function wantsApprovals(tool: { readonly require_approval?: unknown }): boolean {
  return (tool.require_approval ?? 'never') !== 'never';
}

/** The type of a hosted tool, for messages. */
function typeOf(tool: object): string {
  return (hostedTypeOf(tool) ?? '').slice(0, LONGEST_TYPE);
}

/** The variables with which the service itself runs a tool; undefined if it never does. */
function whatRuns(tool: { readonly server_url?: unknown; readonly tunnel_id?: unknown }): string | undefined {
  const type = typeOf(tool);
  if (type.startsWith('web_search')) return 'WEB_SEARCH';
  if (type !== 'mcp' || tool.tunnel_id != null) return undefined;
  return tool.server_url == null ? 'MCP_SERVERS' : 'MCP_CLIENT_URLS, or with its URL in MCP_SERVERS';
}

function refuse(param: string, tool: object, advice: string): never {
  const type = typeOf(tool);
  const help = whatRuns(tool);
  const here = help === undefined ? '' : `This service runs it with ${help}. `;
  const runs = `${here}An upstream with the Responses API would run it (kind: responses), or a provider of the program that has it in 'hostedTools'.`;
  const message = `This model cannot call the tool of type '${type}'. ${runs} ${advice}`;
  throw ApiError.of('unsupported_value', message, { param });
}

function unknownType(type: string, param: string): ApiError {
  const supported = new Intl.ListFormat('en').format(TOOL_TYPES.map((known) => `'${String(known)}'`));
  return ApiError.of('invalid_value', `Invalid value: '${type}'. Supported values are: ${supported}.`, { param });
}
