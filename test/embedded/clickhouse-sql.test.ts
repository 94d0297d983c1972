import fc from 'fast-check';
import t from 'tap';
import { identifierName, lex } from '../../src/embedded/clickhouse/lexer.ts';
import { parseInsertHead, readOutputClauses } from '../../src/embedded/clickhouse/statement.ts';

const texts = (sql: string): string[] => [...lex(sql)].map(({ text }) => text);

t.test('tokens: quotes hide what is in them, comments are left out', async (t) => {
  t.same(texts('SELECT \'a;\\\'b\'\'c\', `x``y`, "q" -- ; \n; /* ; */ 1'), ['SELECT', '\'a;\\\'b\'\'c\'', ',', '`x``y`', ',', '"q"', ';', '1']);
  t.same(texts('a #! ;\nb # ;\nc'), ['a', 'b', 'c']);
  t.same(texts('$$ ; $$ $t$ $$ ; $t$'), ['$$ ; $$', '$t$ $$ ; $t$']);
  t.same([...lex('SELECT \'open; --')].map(({ kind }) => kind), ['word', 'broken']);
  t.same([...lex('1 /* open')].map(({ kind }) => kind), ['number', 'broken']);
  t.same([...lex('`a``b` "c""d" `e\\`f`')].map(identifierName), ['a`b', 'c"d', 'e`f']);
  t.same(texts(`'${'x'.repeat(2_000_000)}'`).length, 1);
});

t.test('tokens cover any text without gaps but white space and comments, and keep their places', async (t) => {
  const unit = fc.constantFrom('\'', '"', '`', '\\', ';', '-', '--', '/*', '*/', '#!', '$$', '\n', ' ', 'a', '1', '(', 'ü');
  fc.assert(fc.property(fc.array(unit, { maxLength: 40 }).map((parts) => parts.join('')), (sql) => {
    let end = 0;
    for (const token of lex(sql)) {
      t.ok(token.start >= end && token.end > token.start);
      t.equal(sql.slice(token.start, token.end), token.text);
      end = token.end;
    }
  }));
});

t.test('heads of inserts with data', async (t) => {
  const head = (sql: string): unknown => {
    const parsed = parseInsertHead(sql);
    return parsed === undefined ? undefined : [parsed.target, parsed.columns, parsed.settingsText, parsed.format, sql.slice(parsed.dataStart)];
  };
  const all = { kind: 'all' };
  t.same(head('INSERT INTO t FORMAT JSONEachRow\n{"a":1}'), ['t', all, '', 'JSONEachRow', '{"a":1}']);
  t.same(head('insert into `my db`."t" (a, `b c`, n.x) settings x = 1, y = \'FORMAT\' format TSV \r\n1'), ['`my db`."t"', { kind: 'named', names: ['a', 'b c', 'n.x'] }, 'settings x = 1, y = \'FORMAT\'', 'TSV', '1']);
  t.same(head('INSERT INTO TABLE t (* EXCEPT (a, b)) FORMAT CSV\n'), ['t', { kind: 'except', names: ['a', 'b'] }, '', 'CSV', '']);
  t.same(head('INSERT INTO t (* EXCEPT a) FORMAT CSV\n'), ['t', { kind: 'except', names: ['a'] }, '', 'CSV', '']);
  t.same(head('INSERT INTO {t:Identifier} VALUES (1), (2)'), ['{t:Identifier}', all, '', 'Values', ' (1), (2)']);
  t.same(head('/* x */ INSERT INTO t FORMAT TSV\n\n1'), ['t', all, '', 'TSV', '\n1']);
  t.same(head('INSERT INTO t FORMAT TSV'), ['t', all, '', 'TSV', '']);
  for (const other of ['SELECT 1', 'INSERT INTO t SELECT 1', 'INSERT INTO t (a) SELECT 1 FORMAT TSV', 'INSERT INTO t (SELECT 1)', 'INSERT INTO t WITH 1 AS x SELECT x', 'INSERT INTO FUNCTION file(\'x\') SELECT 1', '', 'INSERT', 'INSERT INTO t (a', 'INSERT INTO t SETTINGS a = 1 SELECT 1']) {
    t.equal(head(other), undefined, other);
  }
  t.throws(() => parseInsertHead('INSERT INTO t FORMAT TSV;\n1'), { code: 62 });
});

t.test('output clauses at the end of a statement', async (t) => {
  const clauses = (sql: string): unknown => {
    const found = readOutputClauses([...lex(sql)]);
    return [found.looksLikeSelect, found.format, sql.slice(found.outfileAt)];
  };
  t.same(clauses('SELECT 1 FORMAT JSON'), [true, 'JSON', 'FORMAT JSON']);
  t.same(clauses('SELECT 1 SETTINGS a = 1;  -- x'), [true, undefined, ';  -- x']);
  t.same(clauses('SELECT 1 FORMAT JSON SETTINGS a = 1'), [true, 'JSON', 'FORMAT JSON SETTINGS a = 1']);
  t.same(clauses('(SELECT 1 FORMAT x) UNION ALL SELECT \'FORMAT CSV\''), [true, undefined, '']);
  t.same(clauses('SELECT format FROM x'), [true, undefined, '']);
  t.same(clauses('SHOW TABLES FORMAT TSV'), [false, 'TSV', 'FORMAT TSV']);
  t.same(clauses('WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x'), [false, undefined, '']);
});
