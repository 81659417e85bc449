import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';

import { Clock, ModelError, type ModelEvent, Random, ServerTool } from '../../src/index.js';
import { FakeClock, FakeMcpServer, FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { SpanExporter } from '../../src/operations/tracing/span-exporter.js';
import { ServiceLog } from '../support/service-log.js';
import { startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { ChosenRandom } from '../support/routing/chosen-random.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { Collector } from './collector.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT = '00f067aa0ba902b7';
const SAMPLED = { traceparent: `00-${TRACE}-${CLIENT}-01`, tracestate: 'vendor=1' };
const SAY = { model: 'scripted', input: 'secret-of-the-input' };

let collector: Collector;

beforeEach(async () => {
  collector = await Collector.start();
});

afterEach(() => collector[Symbol.asyncDispose]());

/** The spans of a service, as they end. */
function spansOf(service: Service): ReadableSpan[] {
  const spans: ReadableSpan[] = [];
  const { processor } = service.app.get(SpanExporter);
  const onEnd = processor.onEnd.bind(processor);
  processor.onEnd = (span) => {
    spans.push(span);
    onEnd(span);
  };
  return spans;
}

type Variables = Readonly<Record<string, unknown>>;

const on = (more: Variables = {}): Variables => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...more });

describe('the span of a turn', () => {
  let service: Service;
  let spans: ReadableSpan[];
  afterEach(() => service.close());

  const start = async (more: Variables = {}): Promise<void> => {
    service = await startService({ environment: on(more), providers: [ScriptedProvider] });
    spans = spansOf(service);
  };

  it('the span of a turn is made once for each turn on every transport, in the trace of its client', async () => {
    await start();
    const client = service.client({ defaultHeaders: SAMPLED });
    await client.responses.create(SAY);
    await client.responses.stream(SAY).finalResponse();
    const queued = await client.responses.create({ ...SAY, background: true });
    while (spans.length < 3) await new Promise(setImmediate);
    await using socket = await SocketClient.open(service);
    socket.create({ input: 'Hi', client_metadata: { ws_request_header_traceparent: SAMPLED.traceparent } });
    await socket.finish();
    expect(
      spans.map(({ attributes }) => [attributes['antiphon.transport'], attributes['antiphon.background']]),
    ).toEqual([
      ['json', false],
      ['sse', false],
      ['json', true],
      ['websocket', false],
    ]);
    for (const span of spans) {
      expect(span.spanContext().traceId).toBe(TRACE);
      expect(span.parentSpanContext?.spanId).toBe(CLIENT);
    }
    expect(new Set(spans.map((span) => span.spanContext().spanId)).size).toBe(4);
    expect(spans[2]?.attributes['gen_ai.response.id']).toBe(queued.id);
  });

  it('the span of a turn has the attributes of the conventions, and no content', async () => {
    await start({ API_KEYS: 'red:key-of-red' });
    await service.client({ apiKey: 'key-of-red' }).responses.create({ ...SAY, instructions: 'secret-of-instructions' });
    const [span] = spans;
    expect(span?.name).toBe('chat scripted');
    expect(span?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'scripted',
      'gen_ai.response.id': expect.stringMatching(/^resp_/),
      'gen_ai.usage.input_tokens': expect.any(Number),
      'antiphon.tenant': 'red',
      'antiphon.status': 'completed',
    });
    expect(span?.parentSpanContext).toBeUndefined();
    await service.app.get(SpanExporter).processor.forceFlush();
    const sent = Buffer.concat(collector.bodies).toString('latin1');
    expect(sent).toContain('chat scripted');
    expect(sent).not.toMatch(/secret-of|key-of-red/);
  });

  it('the span of a turn has the error of a turn that fails', async () => {
    await start();
    service.app.get(ScriptedProvider).play(async function* () {
      throw new ModelError('server_error', 'No.', { status: 500 });
    });
    await service
      .client()
      .responses.create(SAY)
      .catch(() => undefined);
    expect(spans[0]?.status).toEqual({ code: 2, message: 'server_error' });
    expect(spans[0]?.attributes['error.type']).toBe('server_error');
  });

  it.each([
    ['a client that does not sample', 1, { traceparent: `00-${TRACE}-${CLIENT}-00` }, 0],
    ['a client that samples', 0, SAMPLED, 1],
    ['no client, and a ratio of 0', 0, {}, 0],
    ['no client, and a ratio of 1', 1, {}, 1],
    ['a trace that is not valid', 1, { traceparent: `00-${'0'.repeat(32)}-${CLIENT}-01` }, 1],
  ])('the span of a turn is made or not with %s', async (_name, ratio, headers, expected) => {
    await start({ OTEL_TRACES_SAMPLER_ARG: ratio });
    await service.client({ defaultHeaders: headers }).responses.create(SAY);
    expect(spans).toHaveLength(expected);
    if (expected > 0 && headers !== SAMPLED) expect(spans[0]?.spanContext().traceId).not.toMatch(/^0+$/);
  });

  it.each([
    ['begins at the client', SAMPLED],
    ['begins here', {}],
  ])('the line of a turn in the log names the trace of its span, where that %s', async (_name, headers) => {
    await start({ LOG_TURNS: 'all' });
    using log = ServiceLog.begin();
    await service.client({ defaultHeaders: headers }).responses.create(SAY);
    expect(log.notes).toEqual([expect.stringMatching(` trace=${spans[0]?.spanContext().traceId} `)]);
  });
});

describe('a collector', () => {
  it('a collector gets the last spans at a shutdown', async () => {
    const service = await startService({ environment: on(), providers: [ScriptedProvider] });
    await service.client().responses.create(SAY);
    await service.close();
    expect(Buffer.concat(collector.bodies).toString('latin1')).toContain('chat scripted');
  });

  it('a collector that does not answer at a shutdown holds it no longer than the last waits, and is a warning', async () => {
    collector.isSilent = true;
    const clock = new FakeClock();
    const environment = on({ OTEL_METRICS_EXPORTER: 'otlp', OTEL_METRIC_EXPORT_INTERVAL: 3_600_000 });
    const service = await startService({ environment, providers: [ScriptedProvider], overrides: [[Clock, clock]] });
    await service.client().responses.create(SAY);
    using log = ServiceLog.begin();
    const closed = service.close();
    // One exporter waits after the other, and the time is that of both.
    for (const count of [1, 2]) {
      await collector.received(count);
      clock.advance(3000);
    }
    await closed;
    expect(log.complaints.join()).toMatch(/spans could not be exported: the service was shut down/);
    expect(log.complaints.join()).toMatch(/metrics could not be exported: the service was shut down/);
  });

  it('a collector that fails is a warning, and no turn fails', async () => {
    collector.status = 400;
    await using service = await startService({ environment: on(), providers: [ScriptedProvider] });
    using log = ServiceLog.begin();
    expect((await service.client().responses.create(SAY)).status).toBe('completed');
    await service.app
      .get(SpanExporter)
      .processor.forceFlush()
      .catch(() => undefined);
    expect(log.complaints.join()).toMatch(/spans could not be exported/);
  });
});

describe('an upstream', () => {
  it.each([
    ['without traces gets the trace of the client', () => ({}), new RegExp(`^00-${TRACE}-${CLIENT}-01$`)],
    ['with traces gets the span of the turn as parent', on, new RegExp(`^00-${TRACE}-(?!${CLIENT})[0-9a-f]{16}-01$`)],
  ])('an upstream %s', async (_name, environment, expected) => {
    await using chat = await startRoutedService({
      upstreams: { a: {} },
      models: [{ name: 'm', upstreams: [{ provider: 'a' }] }],
      environment: environment(),
    });
    await chat.client({ defaultHeaders: SAMPLED }).responses.create({ model: 'm', input: 'Hi' });
    const asked = chat.upstream('a').requests.at(-1);
    expect(asked?.headers['traceparent']).toMatch(expected);
    expect(asked?.headers['tracestate']).toBe('vendor=1');

    await using responses = await startResponsesService({
      environment: environment(),
    });
    await responses.client({ defaultHeaders: SAMPLED }).responses.create({ model: 'tested', input: 'Hi' });
    expect(responses.upstream.calls.at(-1)?.headers['traceparent']).toMatch(expected);
  });

  it('a request to an upstream is a span below that of the turn', async () => {
    await using service = await startRoutedService({
      upstreams: { a: {}, b: {} },
      models: [{ name: 'm', upstreams: [{ provider: 'a' }, { provider: 'b' }] }],
      environment: on(),
      overrides: [[Random, new ChosenRandom(0)]],
    });
    const spans = spansOf(service);
    service.upstream('a').refuse(500);
    await service.client().responses.create({ model: 'm', input: 'Hi' });
    const [turn, first, second] = spans;
    expect(spans).toHaveLength(3);
    expect([first, second].map((span) => span?.parentSpanContext?.spanId)).toEqual(
      Array(2).fill(turn?.spanContext().spanId),
    );
    expect(first?.attributes).toMatchObject({ 'gen_ai.provider.name': 'a', 'error.type': 'server_error' });
    expect(second?.attributes).toMatchObject({ 'gen_ai.provider.name': 'b', 'antiphon.attempt.kind': 'fallback' });
    const parent = service.upstream('b').requests.at(-1)?.headers['traceparent'];
    expect(parent).toContain(turn?.spanContext().spanId);
  });
});

@Injectable()
class Tools {
  @ServerTool({ name: 'add', description: 'Adds.', input: { type: 'object' } })
  add(): string {
    return 'secret-of-the-sum';
  }
}

@Module({ providers: [Tools] })
class ToolsModule {}

describe('a call of a tool that the service runs', () => {
  const call = (name: string): readonly ModelEvent[] => [
    { type: 'function_call', name },
    { type: 'function_call_arguments', delta: '{"word":"secret-of-the-arguments"}' },
    { type: 'end' },
  ];

  it('a call of a tool that the service runs is a span below that of the turn, without what it was given and has returned', async () => {
    const fail = () => ({ content: [{ type: 'text', text: 'secret-of-the-error' }], isError: true });
    await using fake = await FakeMcpServer.start([{ name: 'echo' }, { name: 'fail', handler: fail }]);
    await using service = await startService({
      environment: on({ MCP_CLIENT_URLS: 'any' }),
      providers: [ScriptedProvider],
      imports: [ToolsModule],
    });
    const spans = spansOf(service);
    let passes = 0;
    service.app.get(ScriptedProvider).play(async function* () {
      if (passes++ === 0) yield [...call('tools__add'), ...call('docs__echo'), ...call('docs__fail')];
      yield { type: 'finish', reason: 'stop' };
    });
    const { output } = await service.client().responses.create({
      ...SAY,
      tools: [
        { type: 'mcp', server_label: 'tools' },
        { type: 'mcp', server_label: 'docs', server_url: fake.url, require_approval: 'never' },
      ],
    });
    const ids = new Map(output.map((item) => [(item as { readonly name?: string }).name, item.id]));
    const [turn, ...runs] = spans;
    expect(new Set(runs.map(({ name }) => name))).toEqual(
      new Set(['execute_tool add', 'execute_tool echo', 'execute_tool fail']),
    );
    for (const { name, attributes, parentSpanContext, kind } of runs) {
      expect(parentSpanContext?.spanId).toBe(turn?.spanContext().spanId);
      expect(kind).toBe(0);
      const tool = name.replace('execute_tool ', '');
      expect(attributes).toEqual({
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'gen_ai.tool.call.id': ids.get(tool),
        'gen_ai.tool.type': 'extension',
        'antiphon.tool.server': tool === 'add' ? 'tools' : 'docs',
        ...(tool === 'fail' ? { 'error.type': 'mcp_tool_execution_error' } : {}),
      });
    }
    await service.app.get(SpanExporter).processor.forceFlush();
    expect(Buffer.concat(collector.bodies).toString('latin1')).not.toContain('secret-of');
  });

  it('a call of a tool of the web is a span by the name of its function', async () => {
    await using engine = await FakeSearxng.start();
    await using service = await startService({
      environment: on({ WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url }),
      providers: [ScriptedProvider],
    });
    const spans = spansOf(service);
    service.app
      .get(ScriptedProvider)
      .reply(
        { type: 'function_call', name: 'web_search' },
        { type: 'function_call_arguments', delta: '{"query":"bees"}' },
      );
    const { output } = await service.client().responses.create({ ...SAY, tools: [{ type: 'web_search' }] });
    const run = spans.find(({ name }) => name === 'execute_tool web_search');
    expect(run?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'web_search',
      'gen_ai.tool.call.id': output[0]?.id,
      'gen_ai.tool.type': 'extension',
    });
  });
});
