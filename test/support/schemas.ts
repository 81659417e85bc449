/** A JSON Schema of a test. */
export type Schema = Readonly<Record<string, unknown>>;

/** A string of any kind. */
export const word = { type: 'string' } as const;
/** An object with these properties and no others; all are required unless told otherwise. */
export const closed = (properties: Schema, required = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
