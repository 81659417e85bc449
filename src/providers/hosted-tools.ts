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

/** The variables with which the service itself runs tools, by the beginnings of their types. */
const VARIABLES: readonly (readonly [type: string, variable: string])[] = [
  ['web_search', 'WEB_SEARCH'],
  ['mcp', 'MCP_SERVERS'],
];

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
    const isMissing = (tool: object): string | undefined => {
      const type = hostedTypeOf(tool);
      if (type === undefined || hostedTools.includes(type) || isRun(tool)) return undefined;
      return type.slice(0, LONGEST_TYPE);
    };
    const forPrograms = hostedTools.includes(PROGRAMS)
      ? undefined
      : whyOnlyPrograms(turn, (tool) => isMissing(tool) !== undefined);
    if (forPrograms !== undefined) throw ApiError.of('unsupported_value', forPrograms, { param: 'tool_choice' });
    const missing = tools.map(isMissing);
    const placeOf = (index: number, member = ''): string =>
      index < own.length ? `tools[${index}]${member}` : placeOfAdded(turn, index - own.length, { input, member });
    const unknown = missing.findIndex((type) => type !== undefined && !isToolType(type));
    if (unknown !== -1) throw unknownType(missing[unknown] ?? '', placeOf(unknown, '.type'));
    const first = missing.findIndex((type) => type !== undefined);
    if (this.environment.HOSTED_TOOLS === 'reject' && first !== -1) {
      refuse(placeOf(first), missing[first] ?? '', 'Remove it.');
    }
    const demanded =
      findDemanded(choice, isMissing) ?? (choice === 'required' ? onlyMissing(missing, turn) : undefined);
    if (demanded !== undefined) refuse('tool_choice', demanded, ADVICE);
    const asking = tools.findIndex((tool, index) => missing[index] !== undefined && wantsApprovals(tool));
    if (asking !== -1) {
      const advice =
        "Its calls are to be approved, and there would be none. Remove it, or set 'require_approval' to 'never'.";
      refuse(placeOf(asking, '.require_approval'), missing[asking] ?? '', advice);
    }
    for (const type of missing) if (type !== undefined) this.log(model.id, type);
  }

  private log(model: string, type: string): void {
    const key = `${quote(model)} runs ${quote(type)}`;
    if (this.logged.size >= MOST_LINES || this.logged.has(key)) return;
    this.logged.add(key);
    const variable = variableOf(type);
    const hint = variable === undefined ? '' : `; the service itself would run it with ${variable}`;
    this.logger.log(`no provider of the model ${key}: the tool is left out${hint}`);
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
function findDemanded(choice: unknown, isMissing: (tool: object) => string | undefined): string | undefined {
  if (!isObject(choice)) return undefined;
  if (choice.type !== 'allowed_tools') return isMissing(choice);
  const allowed = objectsIn(choice.tools).map(isMissing);
  return allowed.every((type) => type !== undefined) ? allowed[0] : undefined;
}

/** The first missing tool, if there is no other. Items of the context may add tools (protocol §3.1). */
function onlyMissing(missing: readonly (string | undefined)[], { context }: Turn): string | undefined {
  if (missing.includes(undefined)) return undefined;
  return context.some(({ type }) => addsTools(type)) ? undefined : missing[0];
}

/** Whether a tool states a rule by which its calls wait for approvals: who relies on that must not go on without it. */
function wantsApprovals(tool: { readonly require_approval?: unknown }): boolean {
  return (tool.require_approval ?? 'never') !== 'never';
}

function variableOf(type: string): string | undefined {
  return VARIABLES.find(([known]) => type.startsWith(known))?.[1];
}

function refuse(param: string, type: string, advice: string): never {
  const variable = variableOf(type);
  const here = variable === undefined ? '' : `This service runs it with ${variable}. `;
  const runs = `${here}An upstream with the Responses API would run it (kind: responses), or a provider of the program that has it in 'hostedTools'.`;
  const message = `This model cannot call the tool of type '${type}'. ${runs} ${advice}`;
  throw ApiError.of('unsupported_value', message, { param });
}

function unknownType(type: string, param: string): ApiError {
  const supported = new Intl.ListFormat('en').format(TOOL_TYPES.map((known) => `'${String(known)}'`));
  return ApiError.of('invalid_value', `Invalid value: '${type}'. Supported values are: ${supported}.`, { param });
}
