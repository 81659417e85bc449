import { Injectable, Logger, type OnModuleInit, Optional } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';

import { firstLineOf } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { McpObserver } from './mcp-observer.js';
import type { McpServer, McpToolParam } from './mcp-server.js';
import { OwnServer, type OwnTool } from './own-server.js';
import { RequestSlots } from './request-slots.js';
import { DEFAULT_LABEL, SERVER_TOOL, type ServerToolHandler, type ServerToolOptions } from './server-tool.js';
import { DEFAULTS } from './servers-file.js';
import { compileInput } from './tool-input.js';

/** Names that every upstream could be told. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** The names of the methods with the decorator, by prototype: each start of a service would look at all methods of all its providers. */
const markedNames = new WeakMap<object, readonly string[]>();

/** A method with the decorator. */
interface MarkedMethod {
  readonly options: ServerToolOptions;
  readonly handle: ServerToolHandler<unknown>;
  /** For messages: `Weather.report`. */
  readonly place: string;
}

/** Tools of the program with one label. */
interface ToolGroup {
  readonly tools: ReadonlyMap<string, OwnTool>;
  readonly slots: RequestSlots;
}

/** The tools of the program: methods marked `@ServerTool`, by the labels of their servers. */
@Injectable()
export class OwnServers implements OnModuleInit {
  private readonly logger = new Logger('MCP');
  private readonly observer: McpObserver | null;
  private marked: ReadonlyMap<string, readonly MarkedMethod[]> | null = null;
  private groups: ReadonlyMap<string, ToolGroup> = new Map();
  private foundAtMs = 0;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly clock: Clock,
    @Optional() observer?: McpObserver,
  ) {
    this.observer = observer ?? null;
  }

  /** Throws an Error for a tool that is not valid, and for two of one name. */
  async onModuleInit(): Promise<void> {
    const groups = new Map<string, ToolGroup>();
    for (const [label, methods] of this.byLabel()) {
      const tools = new Map<string, OwnTool>();
      for (const method of methods) tools.set(method.options.name, await compile(method, label, tools));
      groups.set(label, { tools, slots: new RequestSlots(DEFAULTS.maxRequests) });
    }
    this.groups = groups;
    this.foundAtMs = this.clock.now();
  }

  /** Whether the program has tools. It may be asked when all providers were created. */
  get hasTools(): boolean {
    return this.byLabel().size > 0;
  }

  /** Whether tools of the program have a label. It may be asked when all providers were created. */
  has(label: string): boolean {
    return this.byLabel().has(label);
  }

  /** The server of a tool of a request; undefined if it names none of the program. Throws ApiError 400 for credentials. */
  find(tool: McpToolParam, tenant: string, param: string): McpServer | undefined {
    const { server_label: label, headers, authorization } = tool;
    const group = this.names(tool) ? this.groups.get(label) : undefined;
    if (group === undefined) return undefined;
    if (authorization != null || Object.keys(headers ?? {}).length > 0) {
      const message = `The tools of '${label}' run in this service: requests must not set credentials or headers for them.`;
      throw ApiError.badRequest(message, `${param}.${authorization == null ? 'headers' : 'authorization'}`);
    }
    const { clock, foundAtMs, logger, observer } = this;
    const description = tool.server_description ?? null;
    return new OwnServer({ ...group, label, description, tenant, foundAtMs, clock, logger, observer });
  }

  /** Whether a tool of a request is of the program: by its label alone. */
  names({ server_label: label, server_url: url, connector_id: connector, tunnel_id: tunnel }: McpToolParam): boolean {
    return url == null && connector == null && tunnel == null && this.has(label);
  }

  private byLabel(): ReadonlyMap<string, readonly MarkedMethod[]> {
    return (this.marked ??= Map.groupBy(this.findMarked(), ({ options }) => options.server ?? DEFAULT_LABEL));
  }

  /** Throws an Error for a method of a provider that exists once per request: calls belong to no request of HTTP. */
  private findMarked(): readonly MarkedMethod[] {
    const found: MarkedMethod[] = [];
    const wrappers = new Map(this.discovery.getProviders().map((wrapper) => [wrapper.instance as unknown, wrapper]));
    for (const [instance, wrapper] of wrappers) {
      // Nest has a ModuleRef in each module, each of a class of its own.
      if (typeof instance !== 'object' || instance === null || instance instanceof ModuleRef) continue;
      for (const key of this.markedNamesOf(Object.getPrototypeOf(instance) as object | null)) {
        const method = (instance as Readonly<Record<string, unknown>>)[key] as ServerToolHandler<unknown>;
        const options = Reflect.getMetadata(SERVER_TOOL, method) as ServerToolOptions | undefined;
        if (options === undefined) continue;
        const place = `${instance.constructor.name}.${key}`;
        if (!wrapper.isDependencyTreeStatic() || wrapper.isTransient) {
          throw new Error(`@ServerTool on ${place}: its provider must be a singleton, without a scope`);
        }
        found.push({ options, place, handle: method.bind(instance) });
      }
    }
    return found;
  }

  private markedNamesOf(prototype: object | null): readonly string[] {
    if (prototype === null) return [];
    const known = markedNames.get(prototype);
    if (known !== undefined) return known;
    const methods = prototype as Readonly<Record<string, object>>;
    const names = this.scanner
      .getAllMethodNames(prototype)
      .filter((name) => Reflect.hasMetadata(SERVER_TOOL, methods[name] as object));
    markedNames.set(prototype, names);
    return names;
  }
}

async function compile(
  { options, handle, place }: MarkedMethod,
  label: string,
  others: ReadonlyMap<string, unknown>,
): Promise<OwnTool> {
  const fail = (fault: string): Error => new Error(`@ServerTool on ${place}: ${fault}`);
  const { name } = options;
  if (!NAME.test(name)) throw fail(`its name must match ${String(NAME)}`);
  if (!NAME.test(label)) throw fail(`its server must match ${String(NAME)}`);
  if (others.has(name)) throw fail(`the server '${label}' has a tool '${name}' already`);
  try {
    return { options, handle, input: await compileInput(options.input) };
  } catch (error) {
    throw fail(firstLineOf(error));
  }
}
