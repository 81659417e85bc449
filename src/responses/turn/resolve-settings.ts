import {
  type CreateResponseRequest,
  PARAMETERS,
  parametersWhere,
  type RequestParameters,
  type ResponseSettings,
  type Tool,
} from '../../protocol/index.js';
import { withoutUrlSecrets } from '../../tools/mcp/index.js';

const ALWAYS: ReadonlySet<string> = new Set(parametersWhere(({ echo }) => echo === 'always'));
const IF_GIVEN = parametersWhere(({ echo }) => echo === 'given');
/** What is echoed of a request that has nothing. Members whose default depends on the request have their place here. */
const DEFAULTS: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(PARAMETERS).flatMap(([name, row]) =>
    ALWAYS.has(name) ? [[name, 'default' in row ? row.default : null]] : [],
  ),
);

/**
 * A request's settings after defaults, as every snapshot of the Response echoes them (protocol §2, §5). `defaultEffort` is
 * the effort of the model where the request names none; null if unknown.
 */
export function resolveSettings(request: RequestParameters, defaultEffort: string | null): ResponseSettings {
  const settings = { ...DEFAULTS };
  for (const name of Object.keys(request)) {
    if (ALWAYS.has(name)) settings[name] = request[name] ?? settings[name];
  }
  settings['moderation'] = null;
  settings['reasoning'] = resolveReasoning(request.reasoning ?? {}, defaultEffort);
  settings['text'] = resolveText(request.text ?? {});
  settings['tools'] = (request.tools ?? []).map(toShown);
  for (const name of IF_GIVEN) {
    if (request[name] != null) settings[name] = request[name];
  }
  if (request.conversation != null) settings['conversation'] = toConversation(request.conversation);
  return settings as unknown as ResponseSettings;
}

function resolveText(text: NonNullable<CreateResponseRequest['text']>): ResponseSettings['text'] {
  return { ...text, format: text.format ?? { type: 'text' }, verbosity: text.verbosity ?? 'medium' };
}

function toConversation(
  conversation: NonNullable<CreateResponseRequest['conversation']>,
): NonNullable<ResponseSettings['conversation']> {
  return { id: typeof conversation === 'string' ? conversation : conversation.id };
}

/** `auto` leaves the context to the model. A provider is given the reasoning of all turns. */
function resolveReasoning(
  { context, effort, mode, summary }: NonNullable<CreateResponseRequest['reasoning']>,
  defaultEffort: string | null,
): ResponseSettings['reasoning'] {
  return {
    context: context == null || context === 'auto' ? 'all_turns' : context,
    effort: (effort ?? defaultEffort) as NonNullable<typeof effort> | null,
    mode: mode ?? 'standard',
    summary: summary ?? null,
  };
}

/**
 * A tool as the Response shows it, and as it is stored. OpenAI and the Open Responses specification have every member of a function tool,
 * if only as null. The credentials of an MCP server are for this turn alone.
 */
function toShown(tool: Tool): Tool {
  if (tool.type === 'mcp') {
    const { authorization: _, headers, ...rest } = tool;
    const { server_url: url } = rest;
    const shown = typeof url === 'string' ? { ...rest, server_url: withoutUrlSecrets(url) } : rest;
    return headers == null ? shown : { ...shown, headers: null };
  }
  if (tool.type !== 'function') return tool;
  return {
    ...tool,
    description: tool.description ?? null,
    parameters: tool.parameters ?? null,
    strict: tool.strict ?? false,
    output_schema: tool.output_schema ?? null,
  };
}
