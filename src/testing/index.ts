/** What the tests of a program that extends Antiphon need: `antiphon/testing`. */
export * from './fake-clock.js';
export * from './scripted-provider.js';
export * from './sequential-id-generator.js';
