import { Readable, Writable } from 'node:stream'
import type { StartedProcess } from './pod-process.ts'

/** A process that only says something and has a status: what a runtime says in the place of a program that it cannot start. */
export function spokenProcess(text: string, status: number): StartedProcess {
  return {
    stdin: new Writable({ write: (_, __, done) => done() }),
    stdout: Readable.from([Buffer.from(text)]),
    stderr: Readable.from([]),
    pid: 0,
    exited: Promise.resolve(status),
    ended: Promise.resolve(),
    isOver: () => true,
  }
}
