import { readFileSync } from 'node:fs';
import { posix } from 'node:path';

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

/** The text of `@example` in the doc comment of a declaration; undefined without one. */
export function exampleOf(node: ts.Node): string | undefined {
  const tag = ts.getJSDocTags(node).find(({ tagName }) => tagName.text === 'example');
  return tag === undefined ? undefined : ts.getTextOfJSDocComment(tag.comment);
}

/** What a constant expression comes to: literals, lists, objects, products, and constants of the file or of those it imports. */
export function evaluate(node: ts.Expression, source: Source): unknown {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
  if (node.kind === ts.SyntaxKind.FalseKeyword) return false;
  if (node.kind === ts.SyntaxKind.NullKeyword) return null;
  // For readers a pattern says nothing; its words do.
  if (ts.isRegularExpressionLiteral(node)) return '';
  if (ts.isAsExpression(node) || ts.isSatisfiesExpression(node)) return evaluate(node.expression, source);
  if (ts.isArrayLiteralExpression(node)) return evaluateAll(node.elements, source);
  if (ts.isObjectLiteralExpression(node)) {
    const members = node.properties.filter(ts.isPropertyAssignment);
    return Object.fromEntries(members.map((one) => [one.name.getText(), evaluate(one.initializer, source)]));
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.AsteriskToken) {
    return Number(evaluate(node.left, source)) * Number(evaluate(node.right, source));
  }
  if (ts.isIdentifier(node)) return evaluateConstant(node.text, source);
  throw new Error(`${source.path}: cannot evaluate '${node.getText()}'`);
}

/** Evaluates elements or arguments, of which some may be spread. */
export function evaluateAll(nodes: readonly ts.Expression[], source: Source): readonly unknown[] {
  return nodes.flatMap((node) =>
    ts.isSpreadElement(node) ? (evaluate(node.expression, source) as unknown[]) : [evaluate(node, source)],
  );
}

function evaluateConstant(name: string, source: Source): unknown {
  const { path, tree } = source;
  const declarations = tree.statements
    .filter(ts.isVariableStatement)
    .flatMap((one) => [...one.declarationList.declarations]);
  const { initializer } = declarations.find((one) => one.name.getText() === name) ?? {};
  if (initializer !== undefined) return evaluate(initializer, source);
  const from = tree.statements.filter(ts.isImportDeclaration).find((one) => {
    const bindings = one.importClause?.namedBindings;
    return bindings !== undefined && ts.isNamedImports(bindings) && bindings.elements.some((e) => e.name.text === name);
  })?.moduleSpecifier;
  if (from === undefined || !ts.isStringLiteral(from)) throw new Error(`${path}: there is no constant ${name}`);
  return evaluateConstant(name, readSource(posix.join(posix.dirname(path), from.text.replace(/\.js$/, '.ts'))));
}
