import { isForPrograms, type Turn } from '../../providers/index.js';

/** A function or custom tool that the client runs. */
export interface CallableTool {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string;
  /** JSON Schema of a function's arguments, as the client sent it. */
  readonly parameters?: unknown;
  /** `format` of a custom tool, as the client sent it. */
  readonly format?: unknown;
}

/** The function and custom tools of a turn, including those in namespaces and in `additional_tools` items. */
export function listCallableTools(turn: Turn): readonly CallableTool[] {
  const added = turn.context.filter(({ type }) => type === 'additional_tools').flatMap(({ tools }) => toList(tools));
  return [...turn.settings.tools, ...added].flatMap((tool) => toCallable(tool));
}

function toCallable(tool: unknown, namespace?: string): readonly CallableTool[] {
  if (typeof tool !== 'object' || tool === null || isForPrograms(tool)) return [];
  const { type, name, parameters, format, tools } = tool as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || name === '') return [];
  const place = namespace === undefined ? {} : { namespace };
  switch (type) {
    case 'function':
      return [{ type, name, ...place, parameters }];
    case 'custom':
      return [{ type, name, ...place, format }];
    case 'namespace':
      return namespace === undefined ? toList(tools).flatMap((inner) => toCallable(inner, name)) : [];
    default:
      return [];
  }
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
