import ts from 'typescript';

import { commentOf, evaluate, readSource } from './read-source.ts';

/** An error code of the service. */
export interface ErrorEntry {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly when: string;
}

/** The entries of a constant such as ERROR_CODES, by status and then by name. */
export function readErrors(path: string, constant: string): readonly ErrorEntry[] {
  const source = readSource(path);
  const entries: ErrorEntry[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === constant) {
      const table = unwrap(node.initializer);
      for (const member of table.properties.filter(ts.isPropertyAssignment)) {
        const code = member.name.getText();
        const { status, type } = evaluate(member.initializer, source) as { status: number; type: string };
        entries.push({ code, status, type, when: commentOf(member, code) });
      }
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(source.tree);
  if (entries.length === 0) throw new Error(`${path}: there is no table ${constant}`);
  return entries.sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1));
}

/** The object within `{ … } as const satisfies …`. */
function unwrap(node: ts.Expression | undefined): ts.ObjectLiteralExpression {
  if (node !== undefined && (ts.isSatisfiesExpression(node) || ts.isAsExpression(node))) return unwrap(node.expression);
  if (node !== undefined && ts.isObjectLiteralExpression(node)) return node;
  throw new Error('expected an object literal');
}
