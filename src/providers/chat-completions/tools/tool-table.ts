import { addsTools, type Item } from '../../../protocol/index.js';
import { objectsIn } from '../../../validation/index.js';
import { hostedTypeOf } from '../../hosted-type.js';
import { isForPrograms } from '../../program-tools.js';
import {
  keyOf,
  nameless,
  NAMELESS_KINDS,
  otherNameOf,
  plainNameOf,
  type ToolAddress,
  type ToolKind,
} from './tool-address.js';
import { defineTool, type ToolDefinition } from './tool-definition.js';

type Members = Readonly<Record<string, unknown>>;

/** A tool with its upstream name. */
export interface CarriedTool {
  readonly address: ToolAddress;
  readonly upstreamName: string;
  readonly definition: ToolDefinition;
}

/**
 * The tools of a turn, each as a function with a unique name. Tools that a provider runs (`web_search`, `mcp` and the like), and those
 * that only programs may call, are omitted: Chat Completions does not support them (docs/chat-completions.md#tools).
 */
export class ToolTable {
  private readonly byKey = new Map<string, CarriedTool>();
  private readonly byUpstreamName = new Map<string, CarriedTool>();
  /** Tools of namespaces by their names within them; null if several have the same. Models forget namespaces. */
  private readonly byBareName = new Map<string, CarriedTool | null>();

  /** `tools` are the request's; items of the transcript may add more (protocol §3.1). */
  constructor(tools: readonly object[], context: readonly Item[]) {
    // If the client runs the search, deferred tools are offered only once found.
    const isSearched = objectsIn(tools).some(({ type, execution }) => type === 'tool_search' && execution === 'client');
    for (const tool of objectsIn(tools)) this.addTool(tool, undefined, isSearched);
    if (isSearched) this.describeSearch(tools);
    for (const item of context) {
      if (!addsTools(item.type)) continue;
      for (const tool of objectsIn(item.tools)) this.addTool(tool, undefined, false);
    }
  }

  get tools(): readonly CarriedTool[] {
    return [...this.byKey.values()];
  }

  /** The tool with this upstream name, or the only one that has this name in a namespace. */
  called(name: string): CarriedTool | undefined {
    return this.byUpstreamName.get(name) ?? this.byBareName.get(name) ?? undefined;
  }

  /** The tool with this address. */
  find(address: ToolAddress): CarriedTool | undefined {
    return this.byKey.get(keyOf(address));
  }

  /** The upstream name of a tool, including tools that are no longer offered. */
  nameOf(address: ToolAddress): string {
    return this.find(address)?.upstreamName ?? plainNameOf(address);
  }

  /** Whether this is a proper prefix of a name that `called` knows. */
  isBeginning(start: string): boolean {
    return [this.byUpstreamName, this.byBareName].some((names) =>
      names.keys().some((name) => name.length > start.length && name.startsWith(start)),
    );
  }

  /** Lists the deferred tools in the description of the search tool. */
  private describeSearch(tools: readonly object[]): void {
    const search = this.byKey.get(keyOf({ kind: 'tool_search', name: 'tool_search' }));
    const deferred = objectsIn(tools).filter(isDeferred).map(describe);
    if (search === undefined || deferred.length === 0) return;
    const { definition } = search;
    const description = [definition.description, `Searchable tools:\n${deferred.join('\n')}`].join('\n\n');
    const described = { ...search, definition: { ...definition, description } };
    this.byKey.set(keyOf(search.address), described);
    this.byUpstreamName.set(search.upstreamName, described);
  }

  private addTool(tool: Members, namespace: string | undefined, leavesDeferred: boolean): void {
    if (tool.type === 'namespace') {
      for (const inner of objectsIn(tool.tools)) this.addTool(inner, String(tool.name), leavesDeferred);
    }
    if ((leavesDeferred && tool.defer_loading === true) || isForPrograms(tool)) return;
    const address = addressOf(tool, namespace);
    if (address === undefined || this.byKey.has(keyOf(address))) return;
    const plainName = plainNameOf(address);
    const upstreamName = this.byUpstreamName.has(plainName) ? otherNameOf(address) : plainName;
    const carried = { address, upstreamName, definition: defineTool(address.kind, tool) };
    this.byKey.set(keyOf(address), carried);
    this.byUpstreamName.set(upstreamName, carried);
    if (namespace !== undefined) this.nameBarely(carried);
  }

  private nameBarely(carried: CarriedTool): void {
    const bareName = plainNameOf({ ...carried.address, namespace: undefined });
    this.byBareName.set(bareName, this.byBareName.has(bareName) ? null : carried);
  }
}

/** The address of a tool or tool choice; undefined for tools that the client does not run. */
export function addressOf(tool: Members, namespace?: string): ToolAddress | undefined {
  const { type, name } = tool;
  if (hostedTypeOf(tool) !== undefined) return undefined;
  if (type === 'tool_search') return tool.execution === 'client' ? nameless('tool_search') : undefined;
  if (NAMELESS_KINDS.has(type)) return nameless(type as ToolKind);
  if ((type !== 'function' && type !== 'custom') || typeof name !== 'string') return undefined;
  return { kind: type, name, ...(namespace === undefined ? {} : { namespace }) };
}

function isDeferred({ defer_loading: isSelf, tools }: Members): boolean {
  return isSelf === true || objectsIn(tools).some(isDeferred);
}

function describe({ name, type, description }: Members): string {
  const label = typeof name === 'string' ? name : String(type);
  return typeof description === 'string' && description !== '' ? `- ${label}: ${description}` : `- ${label}`;
}
