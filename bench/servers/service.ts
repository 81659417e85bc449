/** The service with models without cost, so that only the service is measured. Counts its database round trips. */
import {
  createApp,
  Environment,
  type ModelEvent,
  type ModelInfo,
  ModelProvider,
  type ModelSink,
  PushingProvider,
  type Turn,
} from 'antiphon';

import './round-trips.ts';
import {
  AGENT_MODEL,
  CALLER_MODEL,
  DELTA,
  MODEL_PREFIX,
  NO_CALL,
  readModel,
  readTraffic,
  SEARCH,
  type Traffic,
} from '../traffic.ts';

/** The event of every delta, precomputed. */
const TEXT: ModelEvent = { type: 'text', delta: DELTA };

/** Every call of an agent, precomputed. */
const AGENT_CALL = toCall(SEARCH.name, [
  '{"path":"src/harbor",',
  '"arguments":["--context","3",',
  '"berths.reserve"],',
  '"timeout_ms":10000}',
]);

/** Reports usage, so that the service does not count tokens. */
class BenchProvider extends PushingProvider {
  override async models(): Promise<readonly ModelInfo[]> {
    return ['bench', AGENT_MODEL, CALLER_MODEL].map(toInfo);
  }

  override find(model: string): ModelInfo | undefined {
    return model.startsWith(MODEL_PREFIX) ? toInfo(model) : undefined;
  }

  override push(turn: Turn, sink: ModelSink): Promise<void> {
    const { metadata, model } = turn.settings;
    if (model === AGENT_MODEL) return callSearch(turn, sink);
    if (model === CALLER_MODEL) return callOnce(turn, sink);
    return write(model === 'bench' ? readTraffic(metadata) : readModel(model), sink);
  }
}

/** Writes the traffic that the metadata ask for, or the name of the model. */
function write({ deltas, burst, pauseMs = 0 }: Traffic, sink: ModelSink): Promise<void> {
  let left = deltas;
  // Callbacks of the event loop separate bursts without a promise each.
  const pause = (next: () => void): void => {
    if (pauseMs === 0) setImmediate(next);
    else setTimeout(next, pauseMs);
  };
  return new Promise((resolve) => {
    const writeNext = (): void => {
      if (sink.isClosed) {
        resolve();
      } else if (left === 0) {
        resolve(sink.write(toEnd(8, deltas)));
      } else {
        const count = Math.min(burst, left);
        left -= count;
        const waiting = sink.write(new Array<ModelEvent>(count).fill(TEXT));
        if (waiting === undefined) pause(writeNext);
        else void waiting.then(() => pause(writeNext));
      }
    };
    writeNext();
  });
}

/** Calls a tool in every turn. Reads the whole context, as a model would. */
async function callSearch({ context }: Turn, sink: ModelSink): Promise<void> {
  await sink.write([...AGENT_CALL, ...toEnd(context.length, AGENT_CALL.length - 1)]);
}

/** Calls its first function, and answers what has the output. */
async function callOnce({ context, settings }: Turn, sink: ModelSink): Promise<void> {
  const last = context.at(-1);
  const tool = settings.tools.find(({ type }) => type === 'function') as { readonly name: string } | undefined;
  const isDone = last?.type === 'function_call_output' || JSON.stringify(last).includes(NO_CALL);
  const events = tool === undefined || isDone ? [TEXT] : toCall(tool.name, ['{"path":"src/harbor"}']);
  await sink.write([...events, ...toEnd(context.length, 1)]);
}

function toCall(name: string, deltas: readonly string[]): readonly ModelEvent[] {
  const toDelta = (delta: string) => ({ type: 'function_call_arguments', delta }) as const;
  return [{ type: 'function_call', name }, ...deltas.map(toDelta)];
}

function toInfo(id: string): ModelInfo {
  return { id, ownedBy: 'bench', created: 0, reasoningEfforts: [] };
}

function toEnd(input: number, output: number): readonly ModelEvent[] {
  return [
    { type: 'usage', input, output },
    { type: 'finish', reason: 'stop' },
  ];
}

// Applied manually: Node strips types but does not support decorators.
ModelProvider('bench')(BenchProvider);

const app = await createApp({ providers: [BenchProvider] });
const { PORT, HOST } = app.get(Environment);
await app.listen(PORT, HOST);
process.stdout.write(`The service listens on ${await app.getUrl()}\n`);
