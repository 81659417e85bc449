import { isJSONRPCRequest, type Transport } from '@modelcontextprotocol/client';

import { isObject, objectsIn } from '../../validation/index.js';

type Members = Readonly<Record<string, unknown>>;

const INITIALIZE = 'initialize';
const LIST = 'tools/list';
const FORMED: ReadonlySet<string> = new Set([INITIALIZE, LIST]);

/** The hints of a tool: what is of another type means nothing. */
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

/**
 * The messages of a server before the library of the protocol checks them. It refuses a whole answer for one member of another form, also
 * where nothing here reads it, and many servers write such members: null for what is absent, a schema without `type`, no version.
 */
export class ServerMessages {
  /** Whether the server has said that it has tools: some have tools, and do not say it. */
  declaresTools = true;
  /** By id, the methods of requests whose answers are brought into form: results of calls stay as they are. */
  private readonly asked = new Map<string, string>();

  /** Has the library send and get the messages of a transport through here. */
  constructor(transport: Transport) {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (isJSONRPCRequest(message) && FORMED.has(message.method)) this.asked.set(String(message.id), message.method);
      return send(message, options);
    };
    let receive: Transport['onmessage'];
    Object.defineProperty(transport, 'onmessage', {
      get: () => receive,
      set: (given: Transport['onmessage']) => {
        receive = given && ((message, ...more) => given(this.tidy(message), ...more));
      },
    });
  }

  /** A message, in which the lists of tools and the answer to `initialize` have the forms that the library demands. */
  private tidy<T>(message: T): T {
    const { id, method, result } = Object(message) as Members;
    if (method != null) return message;
    const asked = this.asked.get(String(id));
    this.asked.delete(String(id));
    if (!isObject(result)) return message;
    if (asked === LIST && Array.isArray(result['tools'])) return { ...message, result: toPage(result) };
    const isHello = asked === INITIALIZE && typeof result['protocolVersion'] === 'string';
    return isHello ? { ...message, result: this.toHello(result) } : message;
  }

  private toHello({ protocolVersion, capabilities }: Members): Members {
    const declared = isObject(capabilities) ? (capabilities['tools'] ?? false) : false;
    this.declaresTools = declared !== false;
    // Without these the library asks for no tools, and does not hear that they have changed.
    const tools = { listChanged: true };
    return { protocolVersion, capabilities: { tools }, serverInfo: { name: 'server', version: '0' } };
  }
}

function toPage({ tools, nextCursor, ...more }: Members): Members {
  // An empty one stands for none: whoever asks with it gets the first page again.
  const isMore = typeof nextCursor === 'string' && nextCursor !== '';
  return { ...withoutNulls(more), tools: objectsIn(tools).map(toTool), ...(isMore ? { nextCursor } : {}) };
}

/** A tool with the members that are read here. One without a name gets an empty one, with which it is left out. */
function toTool({ name, description, inputSchema, annotations }: Members): Members {
  return {
    name: typeof name === 'string' ? name : '',
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: toSchema(inputSchema),
    ...(isObject(annotations) ? { annotations: toAnnotations(annotations) } : {}),
  };
}

/** The schema of arguments: they are always an object, whether it says so or not. */
function toSchema(schema: unknown): Members {
  const { properties, required, ...more } = isObject(schema) ? schema : {};
  return {
    ...more,
    type: 'object',
    ...(isObject(properties) ? { properties } : {}),
    ...(Array.isArray(required) ? { required: required.filter((name) => typeof name === 'string') } : {}),
  };
}

function toAnnotations(annotations: Members): Members {
  const hints = HINTS.filter((name) => typeof annotations[name] === 'boolean').map((name) => [name, annotations[name]]);
  const { title } = annotations;
  return { ...(typeof title === 'string' ? { title } : {}), ...(Object.fromEntries(hints) as Members) };
}

function withoutNulls(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}
