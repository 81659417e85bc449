import type { ResponseSettings } from '../../../protocol/index.js';
import type { Capabilities } from '../capabilities.js';

/** How the output format is requested. */
export interface OutputFormat {
  readonly response_format?: object;
  /** Instructions for the model, for formats that the upstream cannot enforce. */
  readonly demand?: string;
}

/** Translates `text.format` into the strictest form that the upstream supports. */
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
