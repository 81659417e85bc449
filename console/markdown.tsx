import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { useLayoutEffect, useRef } from 'preact/hooks';

const marked = new Marked({
  renderer: {
    // What a model writes as HTML is shown as it stands.
    html: ({ text }) => escape(text),
    // An image would be a request to another host, which tells it who reads this.
    image: ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`,
  },
});

const RULES = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'hr', 'strong', 'em', 'del', 'a', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li'],
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  ALLOWED_ATTR: ['href', 'start', 'align'],
  // Every other attribute is held against the expression.
  ADD_URI_SAFE_ATTR: ['start', 'align'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
} as const;

/** A text of a model, rendered as Markdown. */
export function Markdown({ text }: { readonly text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const fragment = DOMPurify.sanitize(marked.parse(text, { async: false }), {
      ...RULES,
      ALLOWED_TAGS: [...RULES.ALLOWED_TAGS],
      ALLOWED_ATTR: [...RULES.ALLOWED_ATTR],
      ADD_URI_SAFE_ATTR: [...RULES.ADD_URI_SAFE_ATTR],
    });
    for (const link of fragment.querySelectorAll('a')) {
      link.target = '_blank';
      link.rel = 'noopener noreferrer';
    }
    element.current?.replaceChildren(fragment);
  }, [text]);
  return <div class="markdown" ref={element} />;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
