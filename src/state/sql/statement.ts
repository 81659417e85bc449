declare const types: unique symbol;

/** An SQL statement with the types of its values and rows. */
export interface Statement<Values extends readonly unknown[], Row> {
  readonly text: string;
  /** The name of the prepared statement; without one it is planned each time. */
  readonly name?: string;
  /** Whether it must not be asked again when its connection broke: what it does a second time is not the same. */
  readonly isOnce?: true;
  readonly [types]?: (values: Values) => Row;
}

/** A statement of any values and rows. */
export type AnyStatement = Pick<Statement<never, unknown>, 'text' | 'name' | 'isOnce'>;

/** Runs one statement; within a transaction, on its connection. */
export type RunStatement = <Values extends readonly unknown[], Row>(
  statement: Statement<Values, Row>,
  values: Values,
) => Promise<readonly Row[]>;

/** A frequent statement: prepared once per connection, unless a pooler is used. */
export function prepared<Values extends readonly unknown[], Row>(name: string, text: string): Statement<Values, Row> {
  return { name: `antiphon_${name}`, text };
}

/** A statement that must not be asked again when its connection broke. */
export function once<Values extends readonly unknown[], Row>(
  statement: Statement<Values, Row>,
): Statement<Values, Row> {
  return { ...statement, isOnce: true };
}

/** A statement composed per request. */
export function adHoc<Values extends readonly unknown[], Row>(text: string): Statement<Values, Row> {
  return { text };
}
