import { describe, expect, it } from '@jest/globals';

import { Environment } from './environment.js';
import { describeUnread } from './unread-variables.js';

const KNOWN = new Set([...Object.keys(new Environment()), 'SIMULATOR_SEED', 'VENDOR_KEY']);

function describeProcess(process: Readonly<Record<string, string>>): readonly string[] {
  return describeUnread(KNOWN, { process, inFile: new Set() });
}

describe('a variable of the process', () => {
  it.each([
    ['API_KEY', 'API_KEYS'],
    ['PROVIDER_FILE', 'PROVIDERS_FILE'],
    ['LOG_LEVL', 'LOG_LEVEL'],
    ['ANTIPHON_PORT', 'PORT'],
    ['ANTIPHON_LOG_LEVL', 'LOG_LEVEL'],
    ['SIMULATOR_SEEDS', 'SIMULATOR_SEED'],
  ])('a variable of the process that must be a slip is named with what is meant: %s', (name, meant) => {
    expect(describeProcess({ [name]: 'secret' })).toEqual([
      `${name} has no effect: there is no such variable. Did you mean ${meant}?`,
    ]);
  });

  it('a variable of the process that only we can mean is named', () => {
    expect(describeProcess({ WS_SOMETHING_ELSE: '1' })).toEqual([
      'WS_SOMETHING_ELSE has no effect: there is no such variable',
    ]);
  });

  it.each<Readonly<Record<string, string>>>([
    { HOME: '/root', PWD: '/', SESSION_MANAGER: 'local', REDIS_HOST: 'other', OPENAI_API_KEY: 'k', VENDOR_KEY: 'k' },
    { API_KEY: 'for curl', API_KEYS: 'tenant:key' },
    { ANTIPHON_PORT: 'tcp://10.0.0.1:8080', ANTIPHON_PORT_8080_TCP_ADDR: '10.0.0.1', WS_SERVICE_HOST: '10.0.0.2' },
    { PORT: '1', LOG_LEVEL: '' },
  ])('a variable of the process of somebody else is not: %j', (process) => {
    expect(describeProcess(process)).toEqual([]);
  });
});

describe('a variable of OpenTelemetry', () => {
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

  it.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'the protocol is http/protobuf'],
    ['OTEL_EXPORTER_OTLP_METRICS_PROTOCOL', 'http/json', 'the protocol is http/protobuf'],
    ['OTEL_TRACES_SAMPLER', 'always_off', 'the sampler is parentbased_traceidratio'],
    ['OTEL_TRACES_EXPORTER', 'none', 'traces are sent where their endpoint is set'],
    ['OTEL_SDK_DISABLED', 'true', 'traces are sent where their endpoint is set'],
    ['OTEL_PROPAGATORS', 'b3', 'traces are passed on as traceparent'],
    ['OTEL_LOGS_EXPORTER', 'otlp', 'the log goes to stdout and stderr'],
    ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'delta', 'metrics are cumulative'],
    [
      ...(['OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION', 'base2_exponential_bucket_histogram'] as const),
      'histograms have fixed buckets',
    ],
    ['OTEL_METRIC_EXPORT_TIMEOUT', '900', 'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT is how long an export may take'],
  ])('a variable of OpenTelemetry that asks for what the service does not do is named: %s=%s', (name, value, what) => {
    expect(describeProcess({ ...collector, [name]: value })).toEqual([`${name} has no effect: ${what}`]);
    expect(describeProcess({ [name]: value })).toEqual([]);
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'http/protobuf'],
    ['OTEL_TRACES_SAMPLER', 'parentbased_traceidratio'],
    ['OTEL_TRACES_EXPORTER', 'otlp'],
    ['OTEL_SDK_DISABLED', 'false'],
    ['OTEL_PROPAGATORS', 'tracecontext,baggage'],
    ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'cumulative'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-key=secret'],
  ])('a variable of OpenTelemetry that asks for what the service does is not: %s=%s', (name, value) => {
    expect(describeProcess({ ...collector, [name]: value })).toEqual([]);
  });
});

describe('a variable in .env', () => {
  it('a variable in .env is named unless the service, its files, Node or a library reads it', () => {
    const names = ['PORT', 'VENDOR_KEY', 'OTEL_LOG_LEVEL', 'NODE_ENV', 'HTTPS_PROXY', 'REDIS_HOST', 'api_keys'];
    const process = Object.fromEntries(names.map((name) => [name, 'secret']));
    expect(describeUnread(KNOWN, { process, inFile: new Set(names) })).toEqual([
      'REDIS_HOST in .env has no effect: there is no such variable',
      'api_keys in .env has no effect: there is no such variable. Did you mean API_KEYS?',
    ]);
  });
});
