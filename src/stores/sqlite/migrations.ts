import type { Connection } from './driver.ts'

/**
 * The schema, in steps. A step that was ever released is never changed; a change is a new step at the end. The number
 * of steps that a file has taken is its `user_version`.
 *
 * `runs` is narrow on purpose: filters scan it or its indexes, and read `records` only for the rows they return. The
 * full-text tables keep no text, only which row has which term, and are read from the newest row on.
 * `indexed`: 0 never, 1 in part, 2 whole. `verdict`: passed, failed, or null; see verdictOf. `traits`: see log-traits.
 */
export const migrations: readonly string[] = [
  `
  create table runs (
    seq integer primary key autoincrement,
    id text not null unique,
    state text not null,
    failing integer not null,
    runtime text,
    started_ms integer not null,
    indexed integer not null default 0,
    pinned integer not null default 0
  );
  create index runs_running on runs (seq) where state = 'running';
  create index runs_failing on runs (seq) where failing = 1;
  create index runs_partial on runs (seq) where indexed < 2;
  create index runs_unindexed on runs (seq) where indexed = 0 and state <> 'running';
  create index runs_runtime on runs (runtime, seq);
  create table records (seq integer primary key, record text not null);
  create table labels (seq integer primary key, label text not null);
  create virtual table label_parts using fts5 (label, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1');
  create virtual table outputs using fts5 (tokens, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'");
  create table notes (seq integer primary key autoincrement, id text not null unique, note text not null);
  `,
  // Runs that were recorded before have no key: they are not compared with.
  `
  alter table runs add column command_key text;
  alter table runs add column verdict text;
  create index runs_command on runs (command_key, verdict, seq) where command_key is not null and verdict is not null;
  `,
  // No run: an empty text, since null is unequal to itself.
  `
  create table shown (
    run text not null,
    surface text not null,
    operation text not null,
    day integer not null,
    calls integer not null,
    bytes integer not null,
    primary key (run, surface, operation, day)
  ) without rowid;
  `,
  // Of runs that were indexed before it is not known.
  'alter table runs add column traits integer;',
  // An index over the files of the notes, which have all of them.
  `
  drop table notes;
  create table notes (seq integer primary key, id text not null unique, retired integer not null, note text not null);
  create virtual table note_words using fts5 (tokens, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'");
  create table note_files (stamp text not null);
  `,
]

export function versionOf(connection: Connection): number {
  return Number(connection.all('pragma user_version')[0]?.[0] ?? 0)
}

/**
 * Brings the schema up to date and returns the version that was found. Safe with any number of processes at once: who
 * comes second finds the work done.
 */
export function migrate(connection: Connection): number {
  const found = versionOf(connection)
  if (found >= migrations.length) return found
  return connection.write(() => {
    const version = versionOf(connection)
    for (const step of migrations.slice(version)) connection.exec(step)
    connection.exec(`pragma user_version = ${Math.max(version, migrations.length)}`)
    return version
  })
}

/** Reads a little of every table and index, so that damage shows when a store is opened rather than later. */
export function probe(connection: Connection): void {
  for (const sql of probes) connection.all(sql)
}

const probes = [
  'select seq, id from runs order by seq desc limit 1',
  "select seq from runs where id >= '' order by id limit 1",
  "select seq from runs where state = 'running' order by seq desc limit 1",
  'select seq from runs where failing = 1 order by seq desc limit 1',
  'select seq from runs where indexed < 2 order by seq desc limit 1',
  "select seq from runs where indexed = 0 and state <> 'running' order by seq desc limit 1",
  "select seq from runs where runtime >= '' order by runtime limit 1",
  "select seq from runs where command_key >= '' and verdict is not null order by command_key limit 1",
  'select seq from records order by seq desc limit 1',
  'select seq from labels order by seq desc limit 1',
  `select rowid from label_parts where label_parts match '"zzz"' limit 1`,
  `select rowid from outputs where outputs match '"z"' limit 1`,
  'select run, bytes from shown order by run limit 1',
  'select seq, id from notes order by seq desc limit 1',
  `select rowid from note_words where note_words match '"z"' limit 1`,
  'select stamp from note_files',
]
