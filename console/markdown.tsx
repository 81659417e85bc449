import { Lexer } from 'marked';
import { type ComponentChildren, createElement } from 'preact';
import { useMemo } from 'preact/hooks';

import type { Json } from './api.ts';

/** Levels of lists and quotes; what is deeper is shown as it was written. */
const DEEPEST = 40;

/** Addresses that a text may link to. */
const LINKED = /^(?:https?|mailto):/i;

/** Named characters that models write; others are shown as they were written. */
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u{A0}' };

/**
 * A text of a model, shown as Markdown. No HTML is made of it: its tokens become elements of a fixed set, so that there is nothing to
 * sanitise.
 */
export function Markdown({ text }: { readonly text: string }) {
  return <div class="markdown">{useMemo(() => read(text), [text])}</div>;
}

function read(text: string): ComponentChildren {
  try {
    return toElements(Lexer.lex(text), 0);
  } catch {
    // Nested deeper than the stack.
    return <p class="plain">{text}</p>;
  }
}

function toElements(tokens: readonly Json[], depth: number): ComponentChildren {
  if (depth > DEEPEST) return tokens.map(({ raw }) => raw).join('');
  return tokens.map((token) => {
    const form = Object.hasOwn(FORMS, token.type) ? FORMS[token.type] : undefined;
    return form === undefined ? token.raw : form(token, depth + 1);
  });
}

type Form = (token: Json, depth: number) => ComponentChildren;

const inside =
  (name: string): Form =>
  ({ tokens }, depth) =>
    createElement(name, null, toElements(tokens, depth));

/** The elements of tokens by their type. What a model writes as HTML has none, and is shown as it stands. */
const FORMS: Readonly<Record<string, Form>> = {
  space: () => null,
  def: () => null,
  br: () => <br />,
  hr: () => <hr />,
  paragraph: inside('p'),
  blockquote: inside('blockquote'),
  strong: inside('strong'),
  em: inside('em'),
  del: inside('del'),
  heading: ({ depth: level, tokens }, depth) => createElement(`h${level}`, null, toElements(tokens, depth)),
  code: ({ text }) => (
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
  ),
  codespan: ({ text }) => <code>{text}</code>,
  text: ({ tokens, text }, depth) => (tokens === undefined ? decode(text) : toElements(tokens, depth)),
  escape: ({ text }) => text,
  checkbox: ({ checked }) => (checked === true ? '☑ ' : '☐ '),
  link: ({ href, tokens }, depth) => <Link href={href}>{toElements(tokens, depth)}</Link>,
  // An image would be a request to another host, which tells it who reads this.
  image: ({ href, text }) => <Link href={href}>{text || href}</Link>,
  list: ({ ordered, start, items }, depth) =>
    createElement(
      ordered === true ? 'ol' : 'ul',
      ordered === true ? { start } : null,
      items.map(({ tokens }: Json) => <li>{toElements(tokens, depth)}</li>),
    ),
  table: ({ header, rows }, depth) => (
    <table>
      <thead>
        <Row cells={header} depth={depth} name="th" />
      </thead>
      <tbody>
        {rows.map((cells: readonly Json[]) => (
          <Row cells={cells} depth={depth} name="td" />
        ))}
      </tbody>
    </table>
  ),
};

function Row({
  cells,
  depth,
  name,
}: {
  readonly cells: readonly Json[];
  readonly depth: number;
  readonly name: string;
}) {
  return (
    <tr>
      {cells.map(({ align, tokens }) => createElement(name, align ? { align } : null, toElements(tokens, depth)))}
    </tr>
  );
}

function Link({ href, children }: { readonly href: string; readonly children: ComponentChildren }) {
  return LINKED.test(href) ? (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  ) : (
    <a>{children}</a>
  );
}

/** Named and numbered characters. */
function decode(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi, (written, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[String(name)] ?? '') : written;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : written;
  });
}
