import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import t from 'tap';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');

type Manifest = { scripts: Record<string, string>; dependencies: Record<string, string>; optionalDependencies: Record<string, string>; devDependencies: Record<string, string> };
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const production = Object.keys(manifest.dependencies);
const optional = Object.keys(manifest.optionalDependencies);
const development = Object.keys(manifest.devDependencies);

type Import = { file: string; specifier: string; kind: 'static' | 'dynamic' | 'type' };

function filesUnder(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts')).map((name) => join(folder, name)).sort();
}

/** Text of `import(x)`, `require(x)`, `require.resolve(x)` and the like, which can also name a package. */
function calledWith(node: ts.CallExpression): string | undefined {
  const [first] = node.arguments;
  if (first === undefined || !ts.isStringLiteralLike(first)) return undefined;
  const name = node.expression.kind === ts.SyntaxKind.ImportKeyword ? 'import' : node.expression.getText();
  return name === 'import' || /^(?:\w+\.)*require(?:\.resolve)?$|^import\.meta\.resolve$|^createRequire\(.*\)(?:\.resolve)?$/.test(name) ? first.text : undefined;
}

function importsOf(file: string): Import[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      found.push({ file, specifier: node.moduleSpecifier.text, kind: node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? 'type' : 'static' });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier)) {
      found.push({ file, specifier: node.moduleSpecifier.text, kind: node.isTypeOnly ? 'type' : 'static' });
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal)) {
      found.push({ file, specifier: node.argument.literal.text, kind: 'type' });
    } else if (ts.isCallExpression(node)) {
      const specifier = calledWith(node);
      if (specifier !== undefined) found.push({ file, specifier, kind: 'dynamic' });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** `@scope/name/sub/path` is the package `@scope/name`; undefined for files of ours and for Node's own modules. */
function packageOf({ specifier }: Import): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:') || builtinModules.includes(specifier)) return undefined;
  return specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}

const shipped = [...filesUnder('src'), ...filesUnder('workers')];
const others = [...filesUnder('test'), ...filesUnder('bench'), ...filesUnder('scripts')];
const shippedImports = shipped.flatMap(importsOf);
const allImports = [...shippedImports, ...others.flatMap(importsOf)];

t.test('the reader of imports sees what it should', async (t) => {
  t.ok(shipped.length > 30, `${shipped.length} files of src and workers`);
  t.ok(shippedImports.some(({ specifier, kind }) => specifier === 'ajv/dist/2020.js' && kind === 'static'));
  t.ok(shippedImports.some(({ kind }) => kind === 'dynamic') && shippedImports.some(({ kind }) => kind === 'type'));
  t.equal(packageOf({ file: '', specifier: '@clickhouse/client/x/y.js', kind: 'static' }), '@clickhouse/client');
  t.equal(packageOf({ file: '', specifier: 'fs', kind: 'static' }), undefined);
});

t.test('every package that is loaded is declared', async (t) => {
  const anywhere = new Set([...production, ...optional, ...development]);
  const runtime = new Set([...production, ...optional]);
  for (const found of allImports) {
    const name = packageOf(found);
    if (name === undefined) continue;
    const isShipped = shipped.includes(found.file);
    // Types are gone at run time, so they may come from a development package.
    const allowed = isShipped && found.kind !== 'type' ? runtime : anywhere;
    if (!allowed.has(name)) t.fail(`${found.file} imports ${name}, which is not in ${isShipped ? 'dependencies' : 'package.json'}`);
  }
  t.pass(`${allImports.length} imports read`);
});

t.test('optional packages are never imported statically by what is shipped', async (t) => {
  const hasty = shippedImports.filter((found) => found.kind === 'static' && optional.includes(packageOf(found) ?? ''));
  t.same(hasty.map(({ file, specifier }) => `${file}: ${specifier}`), [], 'production installs go without them');
});

t.test('every package that is declared is used', async (t) => {
  const imported = new Set(allImports.map(packageOf));
  const configured = ['eslint.config.js', '.dependency-cruiser.cjs', 'tsconfig.json', '.taprc'].map((name) => readFileSync(join(root, name), 'utf8')).join('\n');
  const commands = [...Object.values(manifest.scripts), readFileSync(join(root, 'scripts/check.ts'), 'utf8'), readFileSync(join(root, 'scripts/customhouse'), 'utf8')].join('\n');
  for (const name of [...production, ...optional, ...development]) {
    const { bin } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { bin?: string | Record<string, string> };
    const binaries = typeof bin === 'string' ? [name.split('/').at(-1) ?? name] : Object.keys(bin ?? {});
    const isCommand = binaries.some((binary) => new RegExp(`(^|[\\s'"/])${binary}($|[\\s'"])`, 'm').test(commands));
    const isConfiguration = configured.includes(`'${name}'`) || (name.startsWith('@types/') && (configured.includes(`"${name.slice('@types/'.length)}"`) || imported.has(name.slice('@types/'.length))));
    t.ok(imported.has(name) || isCommand || isConfiguration, `${name} is imported, run or configured somewhere`);
  }
});

t.test('files of ours are imported with their extension and exist', async (t) => {
  for (const { file, specifier } of allImports.filter(({ specifier }) => specifier.startsWith('.'))) {
    const target = relative(root, join(root, dirname(file), specifier));
    if (!existsSync(join(root, target))) t.fail(`${file} imports ${specifier}, which is not there`);
  }
  t.pass('all there');
});
