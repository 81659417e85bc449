import { ModelError } from '../../src/index.js';
import type { ScriptedProvider } from '../../src/testing/index.js';
import type { Service } from '../support/service.js';
import type { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

/** What a case has to provoke its error with. */
export interface Scene {
  readonly service: Service;
  readonly provider: ScriptedProvider;
  readonly client: SocketClient;
}

/** An error that a frame can tell (protocol §6.3, §6.9, §7). */
export interface ErrorCase {
  readonly code: string;
  readonly status: number;
  readonly param?: string;
  readonly message: RegExp | string;
  /** `invalid_request_error` where it is not given. */
  readonly type?: string;
  /** The lane that the frame names. */
  readonly lane?: string;
  readonly retryAfter?: string;
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly provoke: (scene: Scene) => unknown;
}

const occupy = async ({ provider, client }: Scene, body: object): Promise<void> => {
  const held = new HeldTurns(provider).hold();
  client.create({ input: 'busy', ...body });
  await held.whenBegun(1);
};

/** The model throws before its first word. */
const thrown =
  (error: Error) =>
  ({ provider, client }: Scene): void => {
    provider.play(() => {
      throw error;
    });
    client.create({ stream_id: 'a', input: 'Hi' });
  };

/** The errors that are told by a frame and leave the connection as it is, by their codes. */
export const ERROR_CASES: readonly ErrorCase[] = [
  {
    code: 'previous_response_not_found',
    status: 400,
    lane: 'a',
    param: 'previous_response_id',
    message: "Previous response with id 'resp_abc' not found.",
    provoke: ({ client }) => client.create({ stream_id: 'a', input: 'Hi', previous_response_id: 'resp_abc' }),
  },
  {
    code: 'concurrent_request',
    status: 409,
    message: /already being generated/,
    provoke: async (scene) => {
      await occupy(scene, {});
      scene.client.create({ input: 'Hi' });
    },
  },
  { code: 'invalid_json', status: 400, message: /JSON/, provoke: ({ client }) => client.send('{"type":') },
  {
    code: 'unknown_event_type',
    status: 400,
    param: 'type',
    message: /'response\.destroy'\. Expected one of: 'response\.create',.* 'response\.steer', 'response\.interrupt',/,
    provoke: ({ client }) => client.send({ type: 'response.destroy', stream_id: 'a' }),
  },
  {
    code: 'processing_error',
    status: 500,
    lane: 'a',
    type: 'server_error',
    message: /^The server had an error while processing your request\..* report request req_\w+\.$/,
    provoke: thrown(new Error('connect ECONNREFUSED 10.0.0.7:5432')),
  },
  {
    code: 'invalid_stream_id',
    status: 400,
    param: 'stream_id',
    message:
      "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, numbers, " +
      'underscores, hyphens, and periods.',
    provoke: ({ client }) => client.create({ stream_id: '', input: 'Hi' }),
  },
  {
    code: 'websocket_stream_limit_reached',
    status: 400,
    lane: 'lane-32',
    param: 'stream_id',
    message:
      'This WebSocket connection has reached its maximum number of distinct stream IDs (32). ' +
      'Reuse an existing stream_id or open a new WebSocket connection.',
    provoke: async ({ client }) => {
      for (let name = 0; name < 32; name += 1) await client.warmUp({ stream_id: `lane-${name}` });
      client.create({ stream_id: 'lane-32', input: 'Hi' });
    },
  },
  {
    code: 'too_many_queued_requests',
    status: 429,
    lane: 'a',
    type: 'rate_limit_error',
    retryAfter: '1',
    message: /cannot be queued/,
    environment: { WS_QUEUE_MAX_TURNS: 0 },
    provoke: async (scene) => {
      await occupy(scene, { stream_id: 'a' });
      scene.client.create({ stream_id: 'a', input: 'Hi' });
    },
  },
  {
    code: 'unknown_parameter',
    status: 400,
    lane: 'a',
    param: 'temprature',
    message: /^Unknown parameter: 'temprature'/,
    environment: { UNKNOWN_PARAMETERS: 'reject' },
    provoke: ({ client }) => client.create({ stream_id: 'a', input: 'Hi', temprature: 1 }),
  },
  {
    code: 'missing_required_parameter',
    status: 400,
    param: 'model',
    message: "Missing required parameter: 'model'.",
    provoke: ({ client }) => client.send({ type: 'response.create', input: 'Hi' }),
  },
  {
    code: 'invalid_type',
    status: 400,
    param: 'store',
    message: "Invalid type for 'store': expected a boolean, but got a string instead.",
    provoke: ({ client }) => client.create({ input: 'Hi', store: 'yes' }),
  },
  {
    code: 'invalid_value',
    status: 400,
    param: 'truncation',
    message: "Invalid value: 'some'. Supported values are: 'auto' and 'disabled'.",
    provoke: ({ client }) => client.create({ input: 'Hi', truncation: 'some' }),
  },
  {
    code: 'unsupported_parameter',
    status: 400,
    param: 'prompt',
    message:
      "Unsupported parameter: 'prompt' is not supported by this server. Its operator can name prompts in PROMPTS_FILE.",
    provoke: ({ client }) => client.create({ input: 'Hi', prompt: { id: 'pmpt_1' } }),
  },
  {
    code: 'context_length_exceeded',
    status: 400,
    lane: 'a',
    param: 'input',
    message: 'Too long.',
    provoke: thrown(new ModelError('context_length_exceeded', 'Too long.', { status: 400, param: 'input' })),
  },
  {
    code: 'rate_limit_exceeded',
    status: 429,
    lane: 'a',
    type: 'rate_limit_error',
    retryAfter: '2',
    message: 'Slow down.',
    provoke: thrown(new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429, retryAfterMs: 1500 })),
  },
  {
    code: 'server_is_overloaded',
    status: 503,
    lane: 'b',
    type: 'service_unavailable_error',
    retryAfter: '1',
    message: /limit of running turns/,
    environment: { MAX_RUNNING_TURNS: 1 },
    provoke: async (scene) => {
      await occupy(scene, { stream_id: 'a' });
      scene.client.create({ stream_id: 'b', input: 'Hi' });
    },
  },
];
