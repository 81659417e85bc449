import { useState } from 'preact/hooks';

import { TEXTS } from './texts.ts';

interface CodeProperties {
  readonly language: string;
  readonly text: string;
}

/** Code under the name of its language, with a button that copies it where the page may: over HTTPS, and on this machine. */
export function Code({ language, text }: CodeProperties) {
  const [copied, setCopied] = useState<string>();
  const copy = (): void => void navigator.clipboard.writeText(text).then(() => setCopied(text));
  return (
    <figure>
      <figcaption>{language}</figcaption>
      {isSecureContext && (
        <button type="button" class="quiet" onClick={copy}>
          {copied === text ? TEXTS.copied : TEXTS.copyCode(language)}
        </button>
      )}
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}
