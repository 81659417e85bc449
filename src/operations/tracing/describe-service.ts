import type { HrTime } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';

import type { Environment } from '../../config/index.js';

/**
 * What a collector is told of this service: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES and, with `instance`, an id of this process. Loads the
 * library.
 */
export async function describeService(
  { OTEL_SERVICE_NAME }: Environment,
  { instance = false } = {},
): Promise<Resource> {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes, serviceInstanceIdDetector } =
    await import('@opentelemetry/resources');
  const detectors = instance ? [serviceInstanceIdDetector, envDetector] : [envDetector];
  return defaultResource()
    .merge(detectResources({ detectors }))
    .merge(resourceFromAttributes({ 'service.name': OTEL_SERVICE_NAME }));
}

/** Milliseconds as OpenTelemetry counts time: whole seconds, and nanoseconds. */
export function toHrTime(ms: number): HrTime {
  return [Math.trunc(ms / 1000), (ms % 1000) * 1_000_000];
}
