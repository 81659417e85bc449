declare const types: unique symbol;

/** An SQL statement with the types of its values and rows. */
export interface Statement<Values extends readonly unknown[], Row> {
  readonly text: string;
  /** Under which connections keep it prepared; without one it is planned each time. */
  readonly name?: string;
  readonly [types]?: (values: Values) => Row;
}

/** A statement that runs often: it is prepared once per connection, unless a pooler is in between. */
export function prepared<Values extends readonly unknown[], Row>(name: string, text: string): Statement<Values, Row> {
  return { name: `antiphon_${name}`, text };
}

/** A statement that is put together for what was asked. */
export function adHoc<Values extends readonly unknown[], Row>(text: string): Statement<Values, Row> {
  return { text };
}
