// A table; on a narrow screen each row becomes a card, with the names of the columns in it.
import type { ComponentChildren } from "preact";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  /** Right-aligned, in figures of one width. */
  number?: boolean;
  /** Takes what room there is. */
  wide?: boolean;
  /** Has no heading that is seen: for buttons. */
  hidden?: boolean;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  key_: (row: T) => string;
  tone?: (row: T) => string;
}

export function Table<T>({ label, columns, rows, key_, tone }: Props<T>) {
  return (
    <table class="table" aria-label={label} role="table">
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.name} scope="col" role="columnheader" class={className(column)}>
              <span class={column.hidden ? "unseen" : undefined}>{column.name}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={key_(row)} role="row" class={tone?.(row)}>
            {columns.map((column) => (
              <td key={column.name} role="cell" class={className(column)} data-name={column.hidden ? undefined : column.name}>
                <div>{column.cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function className(column: { number?: boolean; wide?: boolean; hidden?: boolean }): string | undefined {
  return [column.number && "number", column.wide && "wide", column.hidden && "acts"].filter(Boolean).join(" ") || undefined;
}
