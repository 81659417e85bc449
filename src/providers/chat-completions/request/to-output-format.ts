import type { ResponseSettings } from '../../../protocol/index.js';
import type { Capabilities } from '../capabilities.js';

/** How a model is held to a form of output. */
export interface OutputFormat {
  readonly response_format?: object;
  /** What the upstream cannot enforce, in words for the model. */
  readonly demand?: string;
}

/** `text.format` in the best form that the upstream takes. */
export function toOutputFormat({ format }: ResponseSettings['text'], { structuredOutput }: Capabilities): OutputFormat {
  if (format === undefined || format.type === 'text') return {};
  const jsonObject = structuredOutput === 'none' ? {} : { response_format: { type: 'json_object' } };
  if (format.type === 'json_object') {
    return structuredOutput === 'none' ? { demand: 'Answer with a JSON object and nothing else.' } : jsonObject;
  }
  const { name, description, schema, strict } = format;
  if (structuredOutput !== 'json_schema') {
    const demand = `Answer with JSON that fits this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`;
    return { ...jsonObject, demand };
  }
  const optional = { ...(description == null ? {} : { description }), ...(strict == null ? {} : { strict }) };
  return { response_format: { type: 'json_schema', json_schema: { name, ...optional, schema } } };
}
