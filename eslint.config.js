import tseslint from 'typescript-eslint';

// Type-aware rules only where they catch real defects: lost promises, unsafe any, unbounded fallthrough.
export default tseslint.config(
  { ignores: ['node_modules/', '.data/', '.tap/'] },
  {
    files: ['src/**/*.ts', 'workers/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': ['error', { allowForKnownSafeCalls: [{ from: 'package', package: '@tapjs/test', name: ['test', 'teardown', 'before', 'after', 'rejects', 'resolves'] }, { from: 'package', package: 'tap', name: ['test'] }] }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      eqeqeq: 'error',
      'no-console': 'off',
    },
  },
  {
    files: ['test/**/*.ts'],
    // tap's assertions return promises that the runner itself awaits, and tests pass wrong types on purpose.
    rules: { '@typescript-eslint/no-floating-promises': 'off', '@typescript-eslint/unbound-method': 'off' },
  },
);
