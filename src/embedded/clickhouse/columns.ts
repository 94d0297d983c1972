import type { EngineConnection } from './engine.ts';
import { quoteIdentifier } from './engine.ts';
import { ClickHouseException } from './exception.ts';
import { identifierName, lex } from './lexer.ts';
import type { InsertHead } from './statement.ts';

interface Column {
  readonly name: string;
  readonly type: string;
  /** DEFAULT, MATERIALIZED, ALIAS, EPHEMERAL or empty. */
  readonly defaultKind: string;
  readonly defaultExpression: string;
}

export interface Columns {
  /** The structure of the data that an INSERT with this head brings, as the table function `file` takes it. */
  structureFor(connection: EngineConnection, database: string | undefined, head: InsertHead): Promise<string>;
  /** To be called around every statement that may change a table. */
  forget(): void;
}

const tablesMax = 500;

/**
 * The structure carries the DEFAULT expressions, so that a field which a row leaves out gets the table's default as in a plain
 * INSERT; a column that the statement does not name is filled by the INSERT itself. MATERIALIZED and ALIAS columns are not part
 * of an INSERT without a column list; naming one is refused by the engine.
 */
export function createColumns(): Columns {
  const byTable = new Map<string, readonly Column[]>();
  return {
    async structureFor(connection, database, head) {
      const key = JSON.stringify([database, head.target]);
      // What {name:Identifier} stands for differs from request to request.
      const cacheable = !head.target.includes('{');
      let columns = cacheable ? byTable.get(key) : undefined;
      if (columns === undefined) {
        columns = await describe(connection, head.target);
        if (byTable.size >= tablesMax) byTable.clear();
        if (cacheable) byTable.set(key, columns);
      }
      return renderStructure(columns, head);
    },
    forget: () => byTable.clear(),
  };
}

async function describe(connection: EngineConnection, target: string): Promise<readonly Column[]> {
  const { bytes } = await connection.query(`DESCRIBE TABLE ${target} SETTINGS describe_compact_output = 0, describe_include_subcolumns = 0`, 'JSONCompactEachRow');
  const lines = Buffer.from(bytes).toString('utf8').split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [name = '', type = '', defaultKind = '', defaultExpression = ''] = JSON.parse(line) as string[];
    return { name, type, defaultKind, defaultExpression };
  });
}

function renderStructure(columns: readonly Column[], head: InsertHead): string {
  const chosen = chooseColumns(columns, head);
  const chosenNames = new Set(chosen.map(({ name }) => name));
  const others = columns.map(({ name }) => name).filter((name) => !chosenNames.has(name));
  return chosen.map(({ name, type, defaultKind, defaultExpression }) => {
    // An expression over a column that the data does not have cannot be evaluated while reading; the type's default is taken then.
    const needsOthers = [...lex(defaultExpression)].some((token) => others.includes(identifierName(token)));
    const defaultText = defaultKind === 'DEFAULT' && !needsOthers ? ` DEFAULT ${defaultExpression}` : '';
    return `${quoteIdentifier(name)} ${type}${defaultText}`;
  }).join(', ');
}

function chooseColumns(columns: readonly Column[], head: InsertHead): readonly Column[] {
  const plain = columns.filter(({ defaultKind }) => defaultKind === '' || defaultKind === 'DEFAULT');
  const { columns: list } = head;
  if (list.kind === 'all') return plain;
  const unknown = list.names.find((wanted) => !columns.some(({ name }) => name === wanted));
  if (unknown !== undefined) throw new ClickHouseException(16, 'NO_SUCH_COLUMN_IN_TABLE', `No such column ${unknown} in table ${head.target}.`);
  if (list.kind === 'except') return plain.filter(({ name }) => !list.names.includes(name));
  return list.names.flatMap((wanted) => columns.filter(({ name }) => name === wanted));
}
