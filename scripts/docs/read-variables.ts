import ts from 'typescript';

import { commentOf, evaluate, evaluateAll, exampleOf, readSource, type Source } from './read-source.ts';

/** A variable of the environment, as its class declares it. */
export interface Variable {
  readonly section: string;
  readonly name: string;
  /** What it may be: words, or a range. */
  readonly values: string;
  /** As one would write it; empty where nothing is set. */
  readonly defaultText: string;
  /** What .env.example recommends in place of the default: `@example` in the comment. */
  readonly sample?: string;
  readonly effect: string;
}

/** How each decorator of src/config/variables.ts is described, given its arguments. */
const KINDS: Readonly<Record<string, (args: readonly unknown[]) => string>> = {
  Text: () => 'text',
  TextList: () => 'list',
  Flag: ([options]) => (isOpen(options) ? '`true`, `false`, empty' : '`true`, `false`'),
  Choice: (words) => toWords(words),
  Choices: (words) => `${toWords(words)}, \`none\``,
  ChoiceExcept: ([words]) => toWords(words as readonly unknown[]),
  WholeNumber: ([min, max]) => toRange(min, max),
  Milliseconds: ([min]) => `ms, ${toRange(min, undefined)}`,
  Share: () => 'from 0 to 1',
  Factor: () => 'number above 0',
  Shape: ([, words]) => String(words),
  LevelsOfParts: () => 'levels by part',
  Rates: (kinds) => `shares of ${toWords(kinds)}`,
};

/** All variables that a class declares, in its order. */
export function readVariables(path: string, className: string): readonly Variable[] {
  const source = readSource(path);
  const found = source.tree.statements.filter(ts.isClassDeclaration).find(({ name }) => name?.text === className);
  if (found === undefined) throw new Error(`${path}: there is no class ${className}`);
  let section = '';
  return found.members.filter(ts.isPropertyDeclaration).map((member) => {
    section = /^\s*\/\/ Section: (.+)$/m.exec(member.getFullText())?.[1] ?? section;
    return { section, ...toVariable(member, source) };
  });
}

function toVariable(member: ts.PropertyDeclaration, source: Source): Omit<Variable, 'section'> {
  const name = member.name.getText();
  const call = ts
    .getDecorators(member)
    ?.map(({ expression }) => expression)
    .find(ts.isCallExpression);
  const kind = call === undefined ? undefined : KINDS[call.expression.getText()];
  if (call === undefined || kind === undefined) throw new Error(`${source.path}: ${name} is of no known kind`);
  if (member.initializer === undefined) throw new Error(`${source.path}: ${name} has no default`);
  const args = evaluateAll(call.arguments, source);
  const value = evaluate(member.initializer, source);
  // Null means that something else decides; shares are empty.
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  const defaultText = isText ? String(value) : Array.isArray(value) ? value.join(',') : '';
  const sample = exampleOf(member);
  return {
    name,
    values: kind(args),
    defaultText,
    ...(sample === undefined ? {} : { sample }),
    effect: commentOf(member, name),
  };
}

function toWords(words: readonly unknown[]): string {
  return words.map((word) => `\`${String(word)}\``).join(', ');
}

function toRange(min: unknown, max: unknown): string {
  return max === undefined ? `${Number(min)} or more` : `${Number(min)} to ${Number(max)}`;
}

function isOpen(options: unknown): boolean {
  return typeof options === 'object' && options !== null && 'open' in options && options.open === true;
}
