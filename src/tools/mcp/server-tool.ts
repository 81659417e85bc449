import { SetMetadata } from '@nestjs/common';

import type { MaybePromise } from '../../time/index.js';
import type { McpProgress, McpToolAnnotations } from './mcp-server.js';

/** The label of tools that name no server of their own. */
export const DEFAULT_LABEL = 'tools';

/** What a handler knows of its call, beside the arguments. */
export interface ServerToolContext {
  /** The tenant whose turn it is. Data of one tenant must never reach another one. */
  readonly tenant: string;
  /** The response that the call belongs to; null outside of one. */
  readonly responseId: string | null;
  /** Aborts when the turn is stopped or the call has taken too long: nobody waits for the result then. */
  readonly signal: AbortSignal;
  /** Says that the call goes on: its time begins anew. */
  readonly progress: (progress: McpProgress) => void;
}

/** A part of a result, as MCP has it: `text`, `image`, `audio`, `resource`, `resource_link`. */
export interface ServerToolPart {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** What a tool returns: a text, or the members of a result of MCP. */
export type ServerToolResult =
  | string
  | {
      readonly content: readonly ServerToolPart[];
      /** Takes the place of the texts of `content`. */
      readonly structuredContent?: Readonly<Record<string, unknown>>;
      /** The call has failed, as `content` says. */
      readonly isError?: boolean;
    };

/** The method of a tool. */
export type ServerToolHandler<Input> = (input: Input, context: ServerToolContext) => MaybePromise<ServerToolResult>;

/**
 * A schema of a library with the interfaces StandardSchemaV1 and StandardJSONSchemaV1, such as zod 4.2 or newer. It checks the arguments, and
 * says as JSON Schema what models are told.
 */
export interface StandardInput<Output> {
  readonly '~standard': {
    readonly validate: (value: unknown) => MaybePromise<StandardResult<Output>>;
    readonly jsonSchema: { readonly input: (options: { readonly target: 'draft-2020-12' }) => object };
  };
}

/** The value that a schema has read, or what is wrong. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** JSON Schema of draft 2020-12, of an object. */
export type JsonInput = Readonly<Record<string, unknown>>;

/** What a tool is, and who may call it how. */
export interface ServerToolOptions<Input = StandardInput<unknown> | JsonInput> {
  /** Letters, digits, `_`, `-` and `.`, up to 128; unique in its server. */
  readonly name: string;
  /** What models are told. */
  readonly description: string;
  /** The arguments: an object. The handler is called only with those that match. */
  readonly input: Input;
  /** What it does to the world. `readOnlyHint` or `idempotentHint` let a call be repeated after a crash. */
  readonly annotations?: McpToolAnnotations;
  /** Whether every call needs an approval of the client. By default only those for which a request demands it. */
  readonly requireApproval?: boolean;
  /** The `server_label` by which requests name it. Default: `tools`. */
  readonly server?: string;
  /** The longest time without progress, ms. Default: 60 s. */
  readonly timeoutMs?: number;
}

/** Servers that turns get without naming them. */
export interface InjectedTools {
  /** The label of tools of the program. */
  readonly server: string;
  /** Only turns of these tenants; by default of all. */
  readonly tenants?: readonly string[];
  /** Only turns of these models, as globs; by default of all. */
  readonly models?: readonly string[];
}

/** DI token: the tools that turns get without naming them. */
export const INJECTED_TOOLS = 'antiphon: injected tools';

/** Where the decorator keeps its options. */
export const SERVER_TOOL = 'antiphon: server tool';

/** An error that the model and the client see: the call has failed for a reason that they may know. */
export class ServerToolError extends Error {
  override readonly name = 'ServerToolError';
}

type MarksHandler<Input> = <Handler extends ServerToolHandler<Input>>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void;

/**
 * Offers a method of a provider of the application to models as a tool, which the service runs. Requests name it as one of an MCP server:
 * `{ "type": "mcp", "server_label": "tools" }` (docs/extending-tools.md).
 *
 *     @ServerTool({ name: 'weather', description: 'The weather of a city.', input: z.object({ city: z.string() }) })
 *     weather({ city }: { city: string }, { tenant, signal }: ServerToolContext) { … }
 */
export function ServerTool<Output>(options: ServerToolOptions<StandardInput<Output>>): MarksHandler<Output>;
// With JSON Schema, the method says itself what its input is.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function ServerTool(options: ServerToolOptions<JsonInput>): MarksHandler<any>;
export function ServerTool(options: ServerToolOptions): MethodDecorator {
  return SetMetadata(SERVER_TOOL, options);
}
