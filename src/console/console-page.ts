import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment, hasCredentials } from '../config/index.js';
import { answerAsApplication, FAVICON } from '../http/index.js';

/** Nothing turns text into elements. */
const POLICY = ["require-trusted-types-for 'script'", "trusted-types 'none'"];

/** The page of the console. It says nothing about a tenant, and needs no authentication. */
@Injectable()
export class ConsolePage {
  constructor(private readonly environment: Environment) {}

  /** Whether the service has the page: CONSOLE, and by default where no credentials are configured. */
  get isOn(): boolean {
    const { CONSOLE } = this.environment;
    return CONSOLE === 'auto' ? !hasCredentials(this.environment) : CONSOLE === 'true';
  }

  /**
   * Makes an answer the page.
   *
   * @param files where its files are, relative to the page: it may have come through a proxy that adds to the path
   */
  answer(reply: FastifyReply, files: string): string {
    answerAsApplication(reply, ...POLICY);
    void reply.header('referrer-policy', 'no-referrer');
    const help = this.environment.API_DOCS ? '<link rel="help" href="./docs">\n' : '';
    return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Antiphon console</title>
<link rel="icon" href="${FAVICON}">
${help}<link rel="stylesheet" href="${files}/main.css">
<body>
<div id="console"><noscript>The console needs JavaScript.</noscript></div>
<script type="module" src="${files}/main.js"></script>
</body>
</html>
`;
  }
}
