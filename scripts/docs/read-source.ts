import { readFileSync } from 'node:fs';

import ts from 'typescript';

/** A TypeScript file of this repository, parsed without types. */
export interface Source {
  readonly path: string;
  readonly tree: ts.SourceFile;
}

/** Reads a file, by its path from the root of the repository. */
export function readSource(path: string): Source {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  return { path, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
}

/** The doc comment of a declaration, in one line. Throws an Error for one without. */
export function commentOf(node: ts.Node, name: string): string {
  const comment = ts
    .getJSDocCommentsAndTags(node)
    .filter(ts.isJSDoc)
    .map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? '')
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (comment === '') throw new Error(`${name} has no doc comment`);
  return comment;
}

/** What a constant expression comes to: literals, arrays and objects without members, products, and constants of the file. */
export function evaluate(node: ts.Expression, { path, tree }: Source): unknown {
  const read = (expression: ts.Expression): unknown => {
    if (ts.isStringLiteralLike(expression)) return expression.text;
    if (ts.isNumericLiteral(expression)) return Number(expression.text);
    if (expression.kind === ts.SyntaxKind.TrueKeyword) return true;
    if (expression.kind === ts.SyntaxKind.FalseKeyword) return false;
    if (expression.kind === ts.SyntaxKind.NullKeyword) return null;
    if (ts.isArrayLiteralExpression(expression)) return expression.elements.map(read);
    if (ts.isObjectLiteralExpression(expression)) return Object.fromEntries(expression.properties.flatMap(readMember));
    if (ts.isBinaryExpression(expression) && expression.operatorToken.kind === ts.SyntaxKind.AsteriskToken) {
      return Number(read(expression.left)) * Number(read(expression.right));
    }
    const constant = ts.isIdentifier(expression) ? constants(tree).get(expression.text) : undefined;
    if (constant !== undefined) return read(constant);
    throw new Error(`${path}: cannot evaluate '${expression.getText()}'`);
  };
  const readMember = (member: ts.ObjectLiteralElementLike): readonly (readonly [string, unknown])[] =>
    ts.isPropertyAssignment(member) ? [[member.name.getText(), read(member.initializer)]] : [];
  return read(node);
}

function constants(tree: ts.SourceFile): ReadonlyMap<string, ts.Expression> {
  const declarations = tree.statements
    .filter(ts.isVariableStatement)
    .flatMap((one) => [...one.declarationList.declarations]);
  return new Map(
    declarations.flatMap(({ name, initializer }) => (initializer === undefined ? [] : [[name.getText(), initializer]])),
  );
}
