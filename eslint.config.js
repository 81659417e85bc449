import jsdoc from 'eslint-plugin-jsdoc';
import tseslint from 'typescript-eslint';

/** What the title of a test must not begin with: it leans on the `describe` around it, which a list of failures may not show. */
const FRAGMENT = '/^(?:(?:is|are|it|but|has|have|had|was|were|does|do|can|cannot|may|also|and|or|the same)\\b|%\\w$)/';
/** `it`, `it.skip`, `it.each(…)`, `it.concurrent.each(…)`, and functions of the tests' support such as `itWith`. */
const TEST = [
  '[callee.name=/^(?:it|test)(?:[A-Z]|$)/]',
  ...['object', 'callee.object', 'callee.object.object', 'tag.object'].map(
    (path) => `[callee.${path}.name=/^(?:it|test)$/]`,
  ),
];

export default tseslint.config(
  { ignores: ['.cache', 'dist', 'dist-next', 'dist-old', 'lib', 'lib-next', 'node_modules', 'coverage'] },
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ['*.js', '.*.cjs'] } } },
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[`Literal[value=${FRAGMENT}]`, `TemplateLiteral > TemplateElement:first-child[value.raw=${FRAGMENT}]`].map(
          (title) => ({
            selector: `CallExpression:matches(${TEST.join(', ')}) > ${title}`,
            message: 'The title of a test says who does what, also without its `describe`: begin with the subject.',
          }),
        ),
      ],
      // Files stay small enough to hold in the head.
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      // One import statement per module, types marked as such: what is left at run time is visible.
      '@typescript-eslint/consistent-type-imports': 'error',
      // Nest modules are classes with nothing in them; abstract classes serve as injection tokens.
      '@typescript-eslint/no-extraneous-class': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // Nest types its option objects as classes that nobody constructs.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // A contract's default implementation may be async by its signature only.
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    // The one table of variables: two lines each.
    files: ['src/config/environment.ts'],
    rules: { 'max-lines': 'off' },
  },
  {
    files: ['src/**/*.ts', 'bench/**/*.ts'],
    ignores: ['src/**/*.spec.ts'],
    plugins: { jsdoc },
    rules: {
      // Whatever another file can use says what it gives.
      'jsdoc/require-jsdoc': [
        'error',
        {
          publicOnly: true,
          checkConstructors: false,
          require: { ClassDeclaration: true, FunctionDeclaration: true, MethodDefinition: false },
          contexts: ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'],
        },
      ],
    },
  },
  {
    // V8 keeps both in the old generation with all that they refer to: docs/decisions/2026-11-23-memory-of-turns.md.
    files: ['src/{connections,context,doors,http,protocol,providers,resources,responses,simulator}/**/*.ts'],
    ignores: ['src/**/*.spec.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ObjectExpression > Property[kind=/^[gs]et$/]',
          message: 'An accessor of an object literal outlives its turn: write a class.',
        },
        {
          selector: 'AssignmentExpression[left.type="MemberExpression"] > :function.right',
          message:
            'A function that is assigned to a member outlives its turn: name it first, define a field, or call a method.',
        },
      ],
    },
  },
  {
    // Clients may send what OpenAI has deprecated, so the service must read it.
    files: ['src/responses/turn/resolve-settings.ts'],
    rules: { '@typescript-eslint/no-deprecated': 'off' },
  },
  {
    // The page shows JSON as the API answers it, of any shape.
    files: ['console/**/*.ts', 'console/**/*.tsx'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/restrict-plus-operands': 'off',
    },
  },
  { files: ['**/*.js', '**/*.cjs'], extends: [tseslint.configs.disableTypeChecked] },
);
